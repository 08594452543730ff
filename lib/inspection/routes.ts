/** What may be asked about the gateway itself: pure answers, no Express. */
import type { Fleet } from '../engines/fleet';

/** A JSON answer, or a text of another type. */
export interface InspectionAnswer {
  readonly status: number;
  readonly body: object | string;
  /** Default: JSON. */
  readonly contentType?: string;
}

/** What the answers are made of. */
export interface Inspected {
  readonly fleet: Fleet;
  /** Whole seconds since 1970: when the gateway started serving the model. */
  readonly startedAt: number;
  readonly isClosing: () => boolean;
}

/** `GET /v1/models`: the one model, as OpenAI lists them. */
export function modelsAnswer({ fleet, startedAt }: Inspected): InspectionAnswer {
  const model = { id: fleet.config.model, object: 'model', created: startedAt, owned_by: 'express-narwhal' };
  return { status: 200, body: { object: 'list', data: [model] } };
}

/** `GET /health`: always 200; says how many engines are in placement. */
export function healthAnswer({ fleet, isClosing }: Inspected): InspectionAnswer {
  const instances = fleet.engines.length;
  const available = fleet.engines.filter((engine) => engine.isLive).length;
  const serving = available === instances ? 'ok' : 'degraded';
  const status = isClosing() ? 'draining' : serving;
  return { status: 200, body: { status, instances, available_instances: available } };
}

/** `GET /ready`: 200 while new work is taken, else 503 with the reason. */
export function readyAnswer({ fleet, isClosing }: Inspected): InspectionAnswer {
  if (isClosing()) return { status: 503, body: { ready: false, reason: 'shutting_down' } };
  if (fleet.shape() === 'none') return { status: 503, body: { ready: false, reason: 'no_engine' } };
  return { status: 200, body: { ready: true } };
}
