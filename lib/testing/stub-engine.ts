import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { answerCall } from './answer-call';
import { fillBody, openCall, type StubCall, type StubRole } from './stub-call';
import { type StubScript, type StubScripting, scriptReader } from './stub-script';
import type { FleetState } from './turn';
import { Wire } from './wire';

/** One engine of a stub fleet. */
export interface StubEngine {
  /** Its name: `p0`, `d0`, `b0`, ... */
  readonly iid: string;
  /** What it is for. */
  readonly role: StubRole;
  /** Base address with the prefix, without a slash at the end. It stays the same over `stop` and `start`. */
  readonly url: string;
  /** Id of the running process; a new one after each `start`. */
  readonly engineId: string;
  /** Calls in the order in which their bodies were complete. */
  readonly calls: readonly StubCall[];
  /** What this engine does instead of answering well; asked before the fleet's own script. */
  script: StubScripting;
  /** Connections that are open now, idle ones included. */
  readonly openSockets: number;
  /** Calls whose answer is not over. */
  readonly inFlight: number;
  /** False between `stop` and `start`. */
  readonly running: boolean;
  /** Idle life of a connection from now on, ms. */
  setKeepAlive(ms: number): void;
  /** Kills the engine: open sockets are destroyed, new connections refused. */
  stop(): Promise<void>;
  /** Starts it again on the same port, with a new engine id. */
  start(): Promise<void>;
}

/** What a new engine is told. */
export interface EngineSetup {
  readonly iid: string;
  readonly role: StubRole;
  readonly host: string;
  readonly prefix: string;
  readonly keepAliveTimeoutMs: number;
  readonly fleet: FleetState;
  /** The fleet's own script for a call. */
  readonly fleetScript: (call: StubCall) => StubScript | undefined;
  /** Told of each call when its body is there. */
  readonly onCall: (call: StubCall) => void;
}

/** Reads a body to its end; null when the peer left before. */
async function readBody(req: IncomingMessage): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of req) pieces.push(piece as Buffer);
    return Buffer.concat(pieces);
  } catch {
    return null;
  }
}

/** @internal The running engine behind {@link StubEngine}. */
export class EngineServer implements StubEngine {
  readonly iid: string;
  readonly role: StubRole;
  engineId: string = randomUUID();
  calls: StubCall[] = [];
  inFlight = 0;
  running = false;
  readonly #setup: EngineSetup;
  readonly #sockets = new Set<Socket>();
  readonly #wires = new Set<Wire>();
  #server: Server | undefined;
  #port = 0;
  #keepAliveMs: number;
  #script: StubScripting;
  #read = scriptReader(undefined);

  constructor(setup: EngineSetup) {
    this.iid = setup.iid;
    this.role = setup.role;
    this.#setup = setup;
    this.#keepAliveMs = setup.keepAliveTimeoutMs;
  }

  get url(): string {
    const { host, prefix } = this.#setup;
    return `http://${host.includes(':') ? `[${host}]` : host}:${this.#port}${prefix}`;
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  get script(): StubScripting {
    return this.#script;
  }

  set script(scripting: StubScripting) {
    this.#script = scripting;
    this.#read = scriptReader(scripting);
  }

  setKeepAlive(ms: number): void {
    this.#keepAliveMs = ms;
    if (this.#server !== undefined) this.#server.keepAliveTimeout = ms;
  }

  async start(): Promise<void> {
    if (this.running) return;
    const server = createServer({ keepAliveTimeout: this.#keepAliveMs });
    server.on('request', (req, res) => void this.#serve(req, res));
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, this.#setup.host, resolve);
    });
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    this.engineId = randomUUID();
    this.running = true;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    this.running = false;
    for (const wire of this.#wires) wire.expectCut();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const opened = openCall(req, this.iid, this.role, this.#setup.prefix);
    const wire = new Wire(res, opened);
    this.inFlight += 1;
    this.#wires.add(wire);
    // A peer that goes away shows as 'close'; without a listener its error would end the process.
    res.on('error', () => undefined);
    // Node lets an idle connection live a second longer than it was told; uvicorn does not.
    res.once('finish', () => req.socket.setTimeout(this.#keepAliveMs));
    res.once('close', () => {
      this.inFlight -= 1;
      this.#wires.delete(wire);
    });
    const body = await readBody(req);
    const call = fillBody(opened, body ?? Buffer.alloc(0));
    if (body === null) Object.assign(call, { closedEarly: true, closedAt: performance.now() });
    this.calls.push(call);
    this.#setup.onCall(call);
    if (body === null) return;
    const { engineId, inFlight } = this;
    const { fleet, fleetScript } = this.#setup;
    try {
      const script = this.#read(call) ?? fleetScript(call) ?? {};
      await answerCall({ fleet, call, wire, script, engineId, inFlight });
    } catch (error) {
      // A script, hook or generator that threw must fail the test that wrote it, not the process.
      fleet.log.addFault(call, error);
      wire.reset();
    }
  }
}
