/** Everything that decides who may come in, for one router or one gate. */
import type { IncomingMessage } from 'node:http';
import type { Fleet } from '../engines/fleet';
import type { NarwhalError } from '../errors';
import type { Logger } from '../logger';
import { Door, type DoorTicket } from './door';
import { Limiter, type LimitVerdict } from './limiter';
import type { LimitStore } from './limits';
import { Pricing } from './price';
import { houseFull, overOwnLimit, tooBusy } from './refusals';
import { Saturation } from './saturation';
import type { Seats } from './seats';
import { SpeedFile } from './speed-file';
import { type Tenant, tenantOf } from './tenants';

/** What an admission is made of. */
export interface AdmissionParts {
  readonly seats: Seats;
  readonly store: LimitStore;
  /** Event-loop delay above which new work is refused, seconds. */
  readonly maxDelayS: number;
  /** Its engines' speed is what prices are made of; without it there are none. */
  readonly fleet: Fleet | null;
  /** Where that speed is kept over a restart. */
  readonly stateFile: string | null;
  readonly logger: Logger | null;
}

/** One request, from the door to its end. */
export class Visit {
  readonly tenant: Tenant | null;
  readonly ticket: DoorTicket;
  /** The draw of one request; a promise while a store is being asked. */
  readonly limits: LimitVerdict | Promise<LimitVerdict> | null;
  /** Tokens that were taken for it. */
  tokens = 0;
  /** Monotonic ms from which its price counts; null before it has a seat. */
  pricedAt: number | null = null;
  readonly #limiter: Limiter;
  readonly #calm: () => void;
  #isOver = false;

  constructor(admission: Admission, tenant: Tenant | null) {
    this.#limiter = admission.limiter;
    this.tenant = tenant;
    this.ticket = admission.door.enter(tenant ?? undefined);
    this.#calm = admission.saturation.enter();
    this.limits = tenant === null ? null : this.#limiter.take(tenant, 1, 0);
  }

  /** Ends the visit; a second call does nothing. @param tokens that it used. */
  leave(tokens: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.ticket.leave();
    this.#calm();
    if (this.tenant !== null) this.#limiter.settle(this.tenant, tokens - this.tokens);
  }
}

/** The parts, and the requests that are inside. */
export class Admission {
  readonly seats: Seats;
  readonly door: Door;
  readonly saturation: Saturation;
  readonly limiter: Limiter;
  readonly pricing: Pricing | null;
  readonly fleet: Fleet | null;
  readonly #file: SpeedFile | null;
  /** Where a request's visit stands on the request: one key for each admission. See `context` for why no map. */
  readonly #key = Symbol('express-narwhal visit');

  constructor({ seats, store, maxDelayS, fleet, stateFile, logger }: AdmissionParts) {
    const { limits } = seats;
    this.seats = seats;
    this.door = new Door(limits.seats + (limits.queueTimeoutS > 0 ? limits.queueCapacity : 0));
    this.saturation = new Saturation(maxDelayS);
    this.limiter = new Limiter(store, logger);
    this.fleet = fleet;
    this.pricing = fleet === null ? null : new Pricing(fleet);
    this.#file = stateFile === null || fleet === null ? null : new SpeedFile(stateFile, fleet, logger);
  }

  /** The visit of a request that has begun one. */
  visitOf(req: IncomingMessage): Visit | undefined {
    return (req as unknown as Record<symbol, Visit | undefined>)[this.#key];
  }

  /**
   * Begins the visit of a request.
   *
   * @throws {TypeError} for an identity whose limits make no sense.
   */
  visit(req: IncomingMessage, identity: Readonly<Record<string, unknown>> | null): Visit {
    const visit = new Visit(this, tenantOf(identity));
    this.#file?.start();
    (req as unknown as Record<symbol, Visit>)[this.#key] = visit;
    return visit;
  }

  /** Why a request may not come in, as far as can be said without its body. */
  refusal({ ticket }: Visit, limits: LimitVerdict | null): NarwhalError | null {
    if (ticket.isBeyond) return houseFull();
    if (this.saturation.isHigh) return tooBusy();
    return limits === null || limits.waitS === null ? null : overOwnLimit(limits.waitS);
  }

  /** Writes what was learned. */
  async close(): Promise<void> {
    await this.#file?.close();
  }
}
