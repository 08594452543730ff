/** A long text put together from many short pieces. */
import type { Budget } from './budget';

/** Pieces are kept as they came until so many characters wait, then packed into bytes. */
const PACK_AT = 16_384;

/** Appends binary text (one character a byte), counted against a budget. */
export class RawText {
  private readonly packed: Buffer[] = [];
  private tail = '';
  private total = 0;

  constructor(private readonly budget: Budget) {}

  get length(): number {
    return this.total;
  }

  /** @throws {AssemblyError} `limit` when the budget is used up. */
  append(piece: string): void {
    this.budget.take(piece.length);
    this.total += piece.length;
    this.tail += piece;
    // A short piece of an event keeps the whole event alive; bytes do not.
    if (this.tail.length >= PACK_AT) this.pack();
  }

  toString(): string {
    if (this.packed.length === 0) return this.tail;
    return Buffer.concat(this.packed).toString('latin1') + this.tail;
  }

  private pack(): void {
    this.packed.push(Buffer.from(this.tail, 'latin1'));
    this.tail = '';
  }
}
