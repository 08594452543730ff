/** What a request is told that does not get in. */
import { NarwhalError } from '../errors';
import type { PriceVerdict } from './price';

/** Shortest and longest `Retry-After` of a full house, in seconds; random between, so that clients spread. */
const RETRY_MIN_S = 1;
const RETRY_MAX_S = 5;

function someTimeS(): number {
  return RETRY_MIN_S + Math.floor(Math.random() * (RETRY_MAX_S - RETRY_MIN_S + 1));
}

/** Seats and queue are full. */
export function houseFull(): NarwhalError {
  return new NarwhalError(
    'inflightLimit',
    'the gateway is serving as many requests as it may; try again later',
    { retryAfterS: someTimeS() },
  );
}

/** The process is behind with its own work. */
export function tooBusy(): NarwhalError {
  return new NarwhalError('saturated', 'the gateway is too busy to take more work; try again later', {
    retryAfterS: someTimeS(),
  });
}

/** A tenant's own limit. @param waitS true seconds until it lets one more in. */
export function overOwnLimit(waitS: number): NarwhalError {
  return new NarwhalError('tenantLimit', 'your own limit is reached; try again later', {
    retryAfterS: waitS,
  });
}

/** No seat came free in time. */
export function waitedTooLong(): NarwhalError {
  return new NarwhalError('queueExpired', 'no place for the request came free within queue_timeout_s');
}

/** The first token would come too late. */
export function tooExpensive({ refusal, excessS }: PriceVerdict): NarwhalError {
  if (refusal === 'prompt') {
    return new NarwhalError(
      'promptOverBudget',
      'the prompt alone takes longer than the time to the first token that is aimed at',
      { headers: { 'x-should-retry': 'false' } },
    );
  }
  return new NarwhalError(
    'queueOverBudget',
    'the first token would come later than is aimed at; try again later',
    // Not all of those that are refused together come back together.
    { retryAfterS: excessS + Math.random() },
  );
}
