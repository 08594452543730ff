/** What an identity says of a tenant's share and limits. */
import { numberProblem } from '../options';
import type { Share } from './shares';

/** A tenant: its share of the seats, and its own limits. */
export interface Tenant extends Share {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
}

/** The part of an identity that is read here; every name may also be written as in the fleet file. */
type RawIdentity = Readonly<Record<string, unknown>>;

const COUNT = { min: 1, max: Number.MAX_SAFE_INTEGER, integer: true } as const;
const RULES = {
  weight: { min: 1e-6, max: 1e6 },
  maxInFlight: COUNT,
  requestsPerMinute: COUNT,
  tokensPerMinute: COUNT,
} as const;

/** The names in snake_case, as identities that come from JSON have them. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  maxInFlight: 'max_in_flight',
  requestsPerMinute: 'requests_per_minute',
  tokensPerMinute: 'tokens_per_minute',
};

/** Every member of an identity that is read here. */
export const IDENTITY_NAMES: readonly string[] = [
  'tenant',
  ...Object.keys(RULES),
  ...Object.values(OTHER_NAMES),
];

/**
 * Reads a tenant out of an identity. What is absent or null is no limit; members that are not known here
 * are the host's own.
 *
 * @returns null for an identity without a tenant: its requests share as one.
 * @throws {TypeError} for a limit that is no number in its range, for a tenant that is no text, and for limits
 *   without a tenant, which would have no effect.
 */
export function tenantOf(identity: RawIdentity | null): Tenant | null {
  if (identity === null) return null;
  const weight = limitOf(identity, 'weight');
  const maxInFlight = limitOf(identity, 'maxInFlight');
  const requestsPerMinute = limitOf(identity, 'requestsPerMinute');
  const tokensPerMinute = limitOf(identity, 'tokensPerMinute');
  const tenant = tenantName(identity);
  if (tenant === null) {
    const given = [weight, maxInFlight, requestsPerMinute, tokensPerMinute].some((value) => value !== null);
    if (given) throw new TypeError('an identity with limits needs a tenant');
    return null;
  }
  return {
    name: tenant,
    weight: weight ?? 1,
    maxInFlight: maxInFlight ?? undefined,
    requestsPerMinute,
    tokensPerMinute,
  };
}

/**
 * The tenant that an identity names; null for none.
 *
 * @throws {TypeError} for a tenant that is no text: its requests would share as if they had none.
 */
export function tenantName({ tenant }: RawIdentity): string | null {
  if (tenant === undefined || tenant === null) return null;
  if (typeof tenant !== 'string') {
    throw new TypeError(`the tenant of an identity must be a string or null, not a ${typeof tenant}`);
  }
  return tenant;
}

function limitOf(identity: RawIdentity, name: keyof typeof RULES): number | null {
  const other = OTHER_NAMES[name] ?? name;
  const own = (key: string): unknown => (Object.hasOwn(identity, key) ? identity[key] : undefined);
  const value = own(name) ?? own(other);
  if (value === undefined || value === null) return null;
  const problem = numberProblem(value, RULES[name]);
  if (problem !== null) throw new TypeError(`${name} of an identity ${problem}`);
  return value as number;
}
