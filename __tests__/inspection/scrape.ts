/** GET /metrics, read as Prometheus reads it. */
import { call } from '../helpers/call';

/** Values by their whole series text, e.g. `narwhal_tokens_total{type="input"}`. */
export class Scrape {
  readonly text: string;
  readonly #values = new Map<string, number>();

  constructor(text: string) {
    this.text = text;
    for (const line of text.split('\n')) {
      if (line === '' || line.startsWith('#')) continue;
      const match = /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$/.exec(line);
      if (match === null) throw new Error(`not a sample: ${line}`);
      const key = keyOf(match[1]!, labelsOf(match[2] ?? ''));
      if (this.#values.has(key)) throw new Error(`twice: ${line}`);
      this.#values.set(key, Number(match[3]));
    }
  }

  /** Every series, without its value. */
  get series(): readonly string[] {
    return [...this.#values.keys()].sort();
  }

  /** Names of the metrics by their `# TYPE` lines. */
  get types(): Readonly<Record<string, string>> {
    const lines = this.text.matchAll(/^# TYPE (\S+) (\S+)$/gm);
    return Object.fromEntries([...lines].map((match) => [match[1]!, match[2]!]));
  }

  value(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const value = this.#values.get(keyOf(name, labels));
    if (value === undefined) throw new Error(`no series ${keyOf(name, labels)}`);
    return value;
  }

  /** Sum over all series of the name that have these labels. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    let sum = 0;
    for (const [key, value] of this.#values) {
      if (key.startsWith(`${name}{`) && wanted.every((label) => key.includes(label))) sum += value;
    }
    return sum;
  }
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map((match) => [match[1]!, match[2]!]));
}

function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  const parts = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return `${name}{${parts.sort().join(',')}}`;
}

/** Scrapes a gateway. */
export async function scrape(url: string): Promise<Scrape> {
  const reply = await call(`${url}/metrics`, { method: 'GET' });
  expect(reply.status).toBe(200);
  return new Scrape(reply.text);
}
