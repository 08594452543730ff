/** A list of keys, and how a presented one is compared. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { IDENTITY_NAMES, tenantName, tenantOf } from '../admission/tenants';
import { ConfigError } from '../errors';
import { nearest } from '../options';
import { presentedKey } from './client-credentials';

/** Keys that clients may present: a list, or key to identity (`{ tenant, weight, ... }`). */
export type ApiKeys =
  | readonly (string | undefined)[]
  | Readonly<Record<string, Readonly<Record<string, unknown>>>>;

type KeyIdentity = Readonly<Record<string, unknown>>;

/**
 * Builds the look-up of a request's identity by its key.
 *
 * A key is compared by its salted hash: how long that takes says nothing about the key, and the list can
 * be long. Keys are kept in memory alone.
 *
 * @throws {ConfigError} for an empty list, an empty key, a key that cannot stand in a header, or an
 *   identity that is no object. No message repeats a key.
 */
export function keyRing(apiKeys: ApiKeys): (req: IncomingMessage) => KeyIdentity | null {
  // Salted, so that nobody can choose keys whose hashes share a beginning with a real one's.
  const salt = randomBytes(32).toString('hex');
  const digest = (key: string): Buffer => hash('sha256', salt + key, 'buffer');
  const known = new Map<string, { readonly hash: Buffer; readonly identity: KeyIdentity }>();
  entriesOf(apiKeys).forEach(([key, identity], index) => {
    const hash = digest(checkKey(key, index));
    known.set(hash.toString('latin1'), { hash, identity: checkIdentity(identity, index) });
  });
  if (known.size === 0) throw new ConfigError('apiKeys must hold at least one key');
  // Good keys as they were presented: hashing one costs more than all other checks together. A Map finds
  // text by a seeded hash of the whole of it, so the time of a look-up says nothing about parts of a key.
  const good = new Map<string, KeyIdentity>();
  return (req) => {
    const key = presentedKey(req);
    if (key === null) return null;
    const seen = good.get(key);
    if (seen !== undefined) return seen;
    const hash = digest(key);
    const entry = known.get(hash.toString('latin1'));
    if (entry === undefined || !timingSafeEqual(entry.hash, hash)) return null;
    good.set(key, entry.identity);
    return entry.identity;
  };
}

function entriesOf(apiKeys: ApiKeys): [string, KeyIdentity][] {
  if (Array.isArray(apiKeys)) return (apiKeys as readonly string[]).map((key) => [key, { tenant: null }]);
  if (typeof apiKeys !== 'object' || apiKeys === null) {
    throw new ConfigError('apiKeys must be a list of keys, or an object from key to identity');
  }
  return Object.entries(apiKeys as Record<string, KeyIdentity>);
}

function checkKey(key: unknown, index: number): string {
  if (key === undefined || key === null) {
    throw new ConfigError(`apiKeys: key number ${index + 1} is ${key}: is its environment variable set?`);
  }
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key)) {
    throw new ConfigError(`apiKeys: key number ${index + 1} must be printable ASCII text without blanks`);
  }
  if (UNSET.has(key)) {
    throw new ConfigError(`apiKeys: key number ${index + 1} is the word ${key}: is its variable set?`);
  }
  return key;
}

/** What `process.env.NAME` becomes as a property name, or in a template, when it is not set. */
const UNSET = new Set(['undefined', 'null']);

function checkIdentity(identity: unknown, index: number): KeyIdentity {
  if (typeof identity !== 'object' || identity === null || Array.isArray(identity)) {
    throw new ConfigError(`apiKeys: the identity of key number ${index + 1} must be an object`);
  }
  for (const name of Object.keys(identity)) {
    // A misspelt limit would be no limit. What is not near a name of ours is the host's own.
    const near = IDENTITY_NAMES.includes(name) ? undefined : nearest(name, IDENTITY_NAMES);
    if (near === undefined) continue;
    throw new ConfigError(`apiKeys: key number ${index + 1}: unknown member ${name} (did you mean ${near}?)`);
  }
  try {
    tenantOf(identity as KeyIdentity);
  } catch (error) {
    throw new ConfigError(`apiKeys: key number ${index + 1}: ${(error as Error).message}`);
  }
  return Object.freeze({ ...identity, tenant: tenantName(identity as KeyIdentity) });
}
