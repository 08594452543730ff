/** JSON of somebody else's that has to be an object. */

/** @returns null for text that is no JSON, and for every value that is no object; a list is none. */
export function parseObject(text: Buffer | string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(typeof text === 'string' ? text : text.toString('utf8'));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
