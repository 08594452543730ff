/** Looking at parsed JSON, whose keys the client chose. */

/** A member of the client's, never one of `Object.prototype`. */
export function own(value: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Null means absent in every field that the router reads. */
export function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** A JSON object: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
