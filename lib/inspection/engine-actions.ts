/** Taking an engine out of placement by hand, and bringing it back. */
import type { IncomingMessage } from 'node:http';
import type { Fleet } from '../engines/fleet';
import type { InspectionAnswer } from './routes';

/** An action on one engine. */
export type EngineAction = (
  fleet: Fleet,
  req: IncomingMessage,
) => InspectionAnswer | Promise<InspectionAnswer>;

/** The action that a path asks for; null for every other path. */
export function engineAction(path: string): EngineAction | null {
  const [, iid, verb] = /^\/narwhal\/engines\/([^/]+)\/(drain|readmit)$/.exec(path) ?? [];
  if (iid === undefined) return null;
  return (fleet, req) => {
    // A web page cannot send this type without a preflight, so it cannot be made to act for its reader.
    if (!/^application\/json\b/i.test(req.headers['content-type'] ?? '')) {
      return problem(415, 'send content-type: application/json');
    }
    const engine = fleet.engine(decode(iid));
    if (engine === undefined) return problem(404, 'the fleet has no engine of this name');
    return verb === 'drain' ? drain(fleet, engine.iid) : readmit(fleet, engine.iid);
  };
}

function drain(fleet: Fleet, iid: string): InspectionAnswer {
  fleet.drain(iid);
  return { status: 200, body: { iid, state: 'drained' } };
}

async function readmit(fleet: Fleet, iid: string): Promise<InspectionAnswer> {
  if (await fleet.readmit(iid)) return { status: 200, body: { iid, state: 'live' } };
  return problem(409, 'the engine did not pass its health and one-token probe; it stays out of placement');
}

function problem(status: number, message: string): InspectionAnswer {
  return { status, body: { error: { message, type: 'invalid_request_error', param: null, code: null } } };
}

function decode(iid: string): string {
  try {
    return decodeURIComponent(iid);
  } catch {
    return iid;
  }
}
