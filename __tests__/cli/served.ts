/** `narwhal serve` in front of stub engines, and requests to it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalRow } from '../../lib/index';
import type { StubFleet } from '../../lib/testing';
import { COMPLETION_BODY, COMPLETIONS, call, type Reply, type Sent } from '../helpers/call';
import { type Running, startNarwhal, tempFolder } from './narwhal';

/** A gateway that is ready. Its folder holds `fleet.json` and the journal. */
export interface Served extends Running {
  readonly folder: string;
  /** Without a slash at the end. */
  readonly url: string;
  /** Of the second port; empty where there is none. */
  readonly metricsUrl: string;
}

/** Writes a fleet file in one piece, as a deployment does. */
export function writeFleet(folder: string, fleet: StubFleet, overrides: object = {}): void {
  writeFileSync(join(folder, 'fleet.json'), JSON.stringify(fleet.fleetFile(overrides)));
}

/** Starts it on a free port of loopback and waits until it is ready. */
export async function serve(
  fleet: StubFleet,
  args: readonly string[] = [],
  { env = {}, files = {} }: { env?: Record<string, string>; files?: Record<string, string> } = {},
): Promise<Served> {
  const folder = tempFolder();
  writeFleet(folder, fleet);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const running = startNarwhal(['serve', '--host', '127.0.0.1', '--port', '0', ...args], {
    cwd: folder,
    env,
  });
  const [, url = ''] = await running.until('stdout', /^narwhal: serving (http:\/\/[\d.:]+): .*\n/);
  const [, metricsUrl = ''] = /metrics (http:\S+)\/metrics/.exec(running.stdout()) ?? [];
  return { ...running, folder, url, metricsUrl };
}

/** One request for a completion. */
export function complete(url: string, members: object = {}, sent: Sent = {}): Promise<Reply> {
  return call(url + COMPLETIONS, { body: { ...COMPLETION_BODY, ...members }, ...sent });
}

/** A streamed request; `begun` resolves with the first piece of its answer. */
export function stream(url: string, members: object = {}): { begun: Promise<void>; reply: Promise<Reply> } {
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const reply = complete(url, { stream: true, ...members }, { onPiece: () => begin() });
  return { begun, reply };
}

/** Waits until `/ready` answers with this status. */
export async function untilReady(url: string, status: number): Promise<void> {
  while ((await call(`${url}/ready`, { method: 'GET' })).status !== status) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Rows of a journal text, without its meta rows. */
export function rowsOf(text: string): JournalRow[] {
  const rows = text.trim().split('\n');
  return rows.map((row) => JSON.parse(row) as JournalRow).filter((row) => !('meta' in row));
}
