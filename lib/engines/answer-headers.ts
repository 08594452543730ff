/** The header fields of an answer that has come through axios. */
import type { AnswerHeaders } from './transport';

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
