/** Finds `\ud83d` without its other half: legal in JSON, but no text, and it breaks tokenizers. */

const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
/** To lower case for ASCII letters; digits stay what they are. */
const LOWER = 0x20;

/** Escaped backslashes are not told apart here: the walk below does that. */
const MAYBE_SURROGATE = /\\u[dD][89a-fA-F]/;

/** The length of one `\uXXXX`. */
const ESCAPE_BYTES = 6;

/**
 * Whether JSON text holds an escape of half a surrogate pair, in a key or a value, at any depth.
 *
 * @param bytes JSON text that `JSON.parse` has accepted. Raw UTF-8 cannot hold half a pair, so that only
 *   escapes are looked at.
 * @param text the same, decoded.
 */
export function hasLoneSurrogate(bytes: Buffer, text: string): boolean {
  // Surrogates are U+D800 to U+DFFF. The search over the decoded text is a third of one over the bytes.
  if (!MAYBE_SURROGATE.test(text)) return false;
  let at = bytes.indexOf(BACKSLASH);
  while (at < bytes.length) {
    if (bytes[at] !== BACKSLASH) {
      at++;
      continue;
    }
    const half = halfAt(bytes, at);
    if (half === 'none') {
      // Two bytes are enough for every escape: the hex digits that may follow are no backslashes.
      at += 2;
    } else {
      if (half === 'low' || halfAt(bytes, at + ESCAPE_BYTES) !== 'low') return true;
      at += 2 * ESCAPE_BYTES;
    }
  }
  return false;
}

/** Which half of a pair the escape at `at` is: U+D800 to U+DBFF the high one, to U+DFFF the low one. */
function halfAt(bytes: Buffer, at: number): 'none' | 'high' | 'low' {
  if (bytes[at] !== BACKSLASH || bytes[at + 1] !== LETTER_U) return 'none';
  if (lower(bytes[at + 2]) !== 0x64 /* d */) return 'none';
  const digit = lower(bytes[at + 3]);
  if (digit < 0x38 /* 8 */) return 'none';
  return digit < 0x63 /* c */ ? 'high' : 'low';
}

function lower(byte: number | undefined): number {
  return (byte ?? 0) | LOWER;
}
