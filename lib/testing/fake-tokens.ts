/** A small stable hash (FNV-1a), so that equal texts give equal ids on every machine. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash ^= text.charCodeAt(at);
    hash = Math.imul(hash, 0x01000193) >>> 0;
  }
  return hash;
}

/** The id that the stub's vocabulary has for a token. */
export function tokenId(text: string): number {
  return hashText(text) % 150_000;
}

/** A stand-in for a tokenizer: one token for each word with the blanks before it. */
export function tokenize(text: string): number[] {
  return (text.match(/\s*\S+/g) ?? []).map(tokenId);
}
