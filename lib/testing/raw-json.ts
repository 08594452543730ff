/** A parsed JSON object whose members are not known in advance. */
export type JsonObject = Record<string, unknown>;

/** True for a JSON object: not null, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\r\n'.includes(text[at]!)) at += 1;
  return at;
}

function stringEnd(text: string, from: number): number {
  let at = from + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function valueEnd(text: string, from: number): number {
  if (text[from] === '"') return stringEnd(text, from);
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const char = text[at]!;
    if (char === '"') {
      at = stringEnd(text, at);
      continue;
    }
    if (depth === 0 && (char === ',' || char === '}' || char === ']')) return at;
    if (char === '{' || char === '[') depth += 1;
    if (char === '}' || char === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
    at += 1;
  }
  return at;
}

/**
 * The top-level members of a JSON object with the text of each value as it stood there.
 *
 * Parsed values cannot be compared where digits, escapes or key order matter, so the stub compares texts.
 *
 * @param text a JSON object that `JSON.parse` accepts
 * @returns member name to value text; of a repeated name the last one, as in Python's parser
 */
export function rawMembers(text: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = skipSpace(text, 0) + 1;
  while (at < text.length) {
    at = skipSpace(text, at);
    if (text[at] === '}') break;
    if (text[at] === ',') {
      at += 1;
      continue;
    }
    const keyEnd = stringEnd(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    members.set(key, text.slice(start, end).trimEnd());
    at = end;
  }
  return members;
}
