/** The header fields of an answer, as they stand in its head. */
import type { AnswerHeaders } from '../transport';

/**
 * A field's name, a colon, its value. RFC 9112, section 5: no blank before the colon, no folded lines.
 * The value begins with its first character that is not blank: were blanks its own too, a line that is no field
 * would be tried in as many ways as it has blanks.
 */
const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*((?:[^\r\n\0 \t][^\r\n\0]*)?)$/;
const SPACE = 0x20;
const TAB = 0x09;

/** Names and values in their order. */
export class RawHeaders implements AnswerHeaders {
  readonly #names: string[] = [];
  readonly #values: string[] = [];

  /**
   * @param text a head without its last line end, one character for each byte.
   * @param from where the first field begins.
   * @returns null where a line is no field.
   */
  static parse(text: string, from: number): RawHeaders | null {
    const headers = new RawHeaders();
    let at = from;
    while (at < text.length) {
      const found = text.indexOf('\r\n', at);
      const end = found === -1 ? text.length : found;
      const line = LINE.exec(text.slice(at, end));
      if (line === null) return null;
      headers.#names.push(line[1]!.toLowerCase());
      headers.#values.push(withoutBlanksBehind(line[2]!));
      at = end + 2;
    }
    return headers;
  }

  get(name: string): string | null {
    const at = this.#names.indexOf(name);
    return at === -1 ? null : this.#values[at]!;
  }

  /**
   * A field that may be stated only once.
   *
   * @returns null where it is not there; text that no reader takes where it is there twice.
   */
  only(name: string): string | null {
    const at = this.#names.indexOf(name);
    if (at === -1) return null;
    return this.#names.indexOf(name, at + 1) === -1 ? this.#values[at]! : 'several';
  }

  /** @param word lower case. @returns whether one of the fields of this name holds the word. */
  says(name: string, word: string): boolean {
    for (let at = this.#names.indexOf(name); at !== -1; at = this.#names.indexOf(name, at + 1)) {
      if (this.#values[at]!.toLowerCase().includes(word)) return true;
    }
    return false;
  }

  all(): Record<string, string> {
    // Without a prototype: `constructor` is a field like any other.
    const fields = Object.create(null) as Record<string, string>;
    for (let i = 0; i < this.#names.length; i++) fields[this.#names[i]!] ??= this.#values[i]!;
    return fields;
  }
}

/** Not `trimEnd`: that takes bytes above 127 as well, which may be the end of a character in UTF-8. */
function withoutBlanksBehind(value: string): string {
  let end = value.length;
  while (end > 0 && isBlank(value.charCodeAt(end - 1))) end -= 1;
  return end === value.length ? value : value.slice(0, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}
