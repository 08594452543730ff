/** Asks engines how many tokens a prompt has. Never fails: a count that does not come is null. */
import { ask } from './ask';
import type { Engine } from './engine';
import type { Transport } from './transport';

/** After each failure in a row an engine is left out for twice as many prompts, at most for so many. */
const MAX_SKIPS = 256;
/** Where the count stands in the answer; the list of tokens behind it is not read. */
const COUNT = /"count"\s*:\s*(\d{1,9})\b/;

/** How an engine has answered lately. */
interface Trust {
  failures: number;
  /** Prompts for which it is still left out. */
  skips: number;
}

/** What the tokenizer needs of a fleet. */
export interface TokenizerParts {
  readonly transport: Transport;
  readonly timeoutS: number;
  /** Engines that may be asked now. */
  readonly candidates: () => readonly Engine[];
}

/** One fleet's way to exact counts. */
export class Tokenizer {
  readonly #parts: TokenizerParts;
  readonly #trust = new WeakMap<Engine, Trust>();
  #turn = 0;
  /** Prompts that no engine counted. */
  missed = 0;

  constructor(parts: TokenizerParts) {
    this.#parts = parts;
  }

  /**
   * Asks one engine, and no second one: the request waits meanwhile.
   *
   * @param body JSON text for `/tokenize`.
   * @returns null where the engine did not say in time, and where none is to be asked.
   */
  async count(body: Buffer, headers: Readonly<Record<string, string>>): Promise<number | null> {
    const { transport, timeoutS } = this.#parts;
    const engine = this.#choose();
    if (engine === null) {
      this.missed++;
      return null;
    }
    const question = { method: 'POST', path: '/tokenize', headers, body } as const;
    const answer = await ask(transport, engine, question, timeoutS);
    const count =
      answer.status === 200 ? COUNT.exec(answer.body.toString('latin1', 0, 4096))?.[1] : undefined;
    this.#note(engine, count !== undefined, answer.status);
    return count === undefined ? null : Number(count);
  }

  /** The next engine in rotation that is not being left out. */
  #choose(): Engine | null {
    const engines = this.#parts.candidates();
    const turn = this.#turn++;
    let chosen: Engine | null = null;
    for (let i = 0; i < engines.length; i++) {
      const engine = engines[(i + turn) % engines.length]!;
      const trust = this.#trust.get(engine);
      if (trust === undefined || trust.skips === 0) chosen ??= engine;
      else trust.skips--;
    }
    return chosen;
  }

  #note(engine: Engine, isGood: boolean, status: number): void {
    if (isGood) {
      this.#trust.delete(engine);
      return;
    }
    this.missed++;
    // A prompt that the engine refuses is the prompt's fault; the engine will say so on the leg.
    if (status === 400) return;
    const failures = (this.#trust.get(engine)?.failures ?? 0) + 1;
    this.#trust.set(engine, { failures, skips: Math.min(2 ** (failures - 1), MAX_SKIPS) });
  }
}
