import { isJsonObject, type JsonObject } from './raw-json';
import type { StubEngine } from './stub-engine';

function merged(base: JsonObject, over: JsonObject): JsonObject {
  const entries = Object.entries(over).map(([key, value]) => {
    const old = base[key];
    return [key, isJsonObject(old) && isJsonObject(value) ? merged(old, value) : value] as const;
  });
  return { ...base, ...Object.fromEntries(entries) };
}

/**
 * A fleet object (`narwhal.fleet`, schema version 1) that names these engines.
 *
 * @param overrides sections put over it; objects are merged, everything else replaces
 */
export function fleetFile(model: string, engines: readonly StubEngine[], overrides: object): JsonObject {
  return merged(
    {
      schema: 'narwhal.fleet',
      schema_version: 1,
      model,
      engines: engines.map(({ iid, url, role }) => ({ iid, url, role })),
    },
    overrides as JsonObject,
  );
}
