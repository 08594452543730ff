/** The header fields of an answer, in the two forms in which they come. */
import type { AnswerHeaders } from './transport';

/** Header fields as the parser found them: name, value, name, value. */
export class RawHeaders implements AnswerHeaders {
  readonly #raw: readonly Buffer[];

  constructor(raw: readonly Buffer[]) {
    this.#raw = raw;
  }

  get(name: string): string | null {
    for (let i = 0; i < this.#raw.length; i += 2) {
      const field = this.#raw[i]!;
      if (field.length === name.length && field.toString('latin1').toLowerCase() === name) {
        return this.#raw[i + 1]!.toString('latin1');
      }
    }
    return null;
  }

  all(): Record<string, string> {
    const fields: Record<string, string> = {};
    for (let i = 0; i < this.#raw.length; i += 2) {
      fields[this.#raw[i]!.toString('latin1').toLowerCase()] ??= this.#raw[i + 1]!.toString('latin1');
    }
    return fields;
  }
}

/** Header fields as an interceptor may have left them. */
export class ObjectHeaders implements AnswerHeaders {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(fields: Readonly<Record<string, unknown>>) {
    this.#fields = fields;
  }

  get(name: string): string | null {
    return this.all()[name] ?? null;
  }

  all(): Record<string, string> {
    const fields: Record<string, string> = {};
    for (const [name, value] of Object.entries(this.#fields)) {
      if (typeof value === 'string') fields[name.toLowerCase()] = value;
    }
    return fields;
  }
}
