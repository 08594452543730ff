/** Buckets in Redis, shared by every gateway process that uses the same server. */
import { ConfigError } from '../errors';
import { checkOptions } from '../options';
import type { Draw, DrawAnswer, LimitStore } from './limits';

/** What is needed of an ioredis client. */
export interface IoredisLike {
  /** Only looked for: it tells the two packages apart. */
  defineCommand(name: string, definition: { lua: string }): void;
  /** Runs a script. */
  eval(script: string, keys: number, ...parts: string[]): Promise<unknown>;
}

/** What is needed of a client of the package `redis`. */
export interface NodeRedisLike {
  /** Only looked for: it tells the two packages apart. */
  readonly isOpen: boolean;
  /** Runs a script. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** Options of `redisLimitStore`. */
export interface RedisLimitStoreOptions {
  /** Begins the name of every key. Default `narwhal:limit:`. */
  readonly prefix?: string | undefined;
}

const DEFAULT_PREFIX = 'narwhal:limit:';

/**
 * All draws or none, in one step, on the server's own clock. One hash for each tenant, so that it works on a
 * cluster; it is gone when its buckets are full again.
 *
 * ARGV: force (0 or 1), then name, size and cost of each bucket. Levels come back as text, to keep fractions.
 */
const SCRIPT = `
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local count = (#ARGV - 1) / 3
local allowed = 1
local levels = {}
for i = 1, count do
  local name, size, cost = ARGV[i * 3 - 1], tonumber(ARGV[i * 3]), tonumber(ARGV[i * 3 + 1])
  local kept = redis.call('HMGET', KEYS[1], name, name .. ':at')
  local level = size
  if kept[1] and kept[2] then
    level = math.min(size, tonumber(kept[1]) + math.max(0, now - tonumber(kept[2])) * size / 60)
  end
  if ARGV[1] == '0' and level < math.min(cost, size) then allowed = 0 end
  levels[i] = level
end
local ttl = 0
for i = 1, count do
  local name, size, cost = ARGV[i * 3 - 1], tonumber(ARGV[i * 3]), tonumber(ARGV[i * 3 + 1])
  if allowed == 1 then
    levels[i] = math.min(size, levels[i] - cost)
    redis.call('HSET', KEYS[1], name, string.format('%.6f', levels[i]), name .. ':at', string.format('%.6f', now))
  end
  ttl = math.max(ttl, (size - levels[i]) * 60000 / size)
  levels[i] = string.format('%.6f', levels[i])
end
if allowed == 1 then
  local left = redis.call('PTTL', KEYS[1])
  redis.call('PEXPIRE', KEYS[1], math.max(left, math.ceil(ttl) + 1000))
end
table.insert(levels, 1, tostring(allowed))
return levels
`;

/**
 * A store over a client that the host has already: of the package `ioredis`, or `redis` (4 and later). The
 * client stays the host's: to connect, to watch for errors, to close.
 *
 * @example
 * ```ts
 * import { narwhalRouter, redisLimitStore } from 'express-narwhal';
 * import { Redis } from 'ioredis';
 *
 * const limitStore = redisLimitStore(new Redis('redis://localhost:6379'), { prefix: 'gateway:' });
 * const narwhal = narwhalRouter({ admissionGate: { limitStore } });
 * ```
 *
 * @throws {ConfigError} for anything that is no such client.
 */
export function redisLimitStore(
  client: IoredisLike | NodeRedisLike,
  options?: RedisLimitStoreOptions,
): LimitStore {
  const { prefix = DEFAULT_PREFIX } = checkOptions('redisLimitStore', options, ['prefix']);
  if (typeof prefix !== 'string') throw new ConfigError('redisLimitStore: prefix must be a string');
  const run = runner(client);
  return {
    async take(tenant: string, draws: readonly Draw[], force: boolean): Promise<DrawAnswer> {
      const parts = draws.flatMap(({ name, perMinute, cost }) => [name, String(perMinute), String(cost)]);
      // Nothing of a tenant's name may look like the braces by which a cluster chooses its node.
      const key = `${prefix}${encodeURIComponent(tenant)}`;
      return readAnswer(await run(key, [force ? '1' : '0', ...parts]), draws.length);
    },
  };
}

/** The two packages call a script each in its own way. */
function runner(client: IoredisLike | NodeRedisLike): (key: string, parts: string[]) => Promise<unknown> {
  if (typeof client === 'object' && client !== null && typeof client.eval === 'function') {
    if ('defineCommand' in client) return (key, parts) => client.eval(SCRIPT, 1, key, ...parts);
    if ('isOpen' in client) return (key, parts) => client.eval(SCRIPT, { keys: [key], arguments: parts });
  }
  throw new ConfigError('redisLimitStore: client must be a client of the package ioredis or redis');
}

function readAnswer(answer: unknown, count: number): DrawAnswer {
  const parts = Array.isArray(answer) ? answer.map(String) : [];
  const [allowed, ...levels] = parts.map(Number);
  if (levels.length !== count || levels.some(Number.isNaN))
    throw new TypeError('not an answer of the script');
  return { allowed: allowed === 1, levels };
}
