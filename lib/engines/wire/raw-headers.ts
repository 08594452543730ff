/** The header fields of an answer, as they stand in its head. */
import type { AnswerHeaders } from '../transport';

/** A field's name, a colon, its value. RFC 9112, section 5: no blank before the colon, no folded lines. */
const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)$/;

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
      headers.#values.push(line[2]!.trimEnd());
      at = end + 2;
    }
    return headers;
  }

  get(name: string): string | null {
    const at = this.#names.indexOf(name);
    return at === -1 ? null : this.#values[at]!;
  }

  /**
   * A field that may be stated more than once only with the same value.
   *
   * @returns null where it is not there; text that no reader takes where two values differ.
   */
  only(name: string): string | null {
    const first = this.get(name);
    const isOne = this.#names.every((other, i) => other !== name || this.#values[i] === first);
    return isOne ? first : 'several';
  }

  all(): Record<string, string> {
    const fields: Record<string, string> = {};
    for (let i = 0; i < this.#names.length; i++) fields[this.#names[i]!] ??= this.#values[i]!;
    return fields;
  }
}
