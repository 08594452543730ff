/** The limits of an assembly: its error, and the count of what it holds. */

/**
 * The stream cannot become one answer. `malformed`: an event is no JSON object in UTF-8. `invalid`: it
 * cannot be merged without loss. `limit`: the answer would be larger than allowed. The message never repeats what the engine sent.
 */
export class AssemblyError extends Error {
  override readonly name = 'AssemblyError';

  constructor(
    readonly kind: 'malformed' | 'invalid' | 'limit',
    message: string,
  ) {
    super(message);
  }
}

/** An `AssemblyError` of kind `malformed`. */
export function malformed(message: string): AssemblyError {
  return new AssemblyError('malformed', message);
}

/** An `AssemblyError` of kind `invalid`. */
export function invalid(message: string): AssemblyError {
  return new AssemblyError('invalid', message);
}

/** Counts the bytes that an assembly holds. All of them end in the answer, so it never counts too much. */
export class Budget {
  private used = 0;

  /** @param shared one for all parts of an answer: what is taken here is taken there as well. */
  constructor(
    private readonly maxBytes: number,
    private readonly shared: Budget | null = null,
  ) {}

  /** @throws {AssemblyError} `limit` when more than `maxBytes` are held. */
  take(bytes: number): void {
    this.used += bytes;
    this.check(this.used);
    this.shared?.take(bytes);
  }

  /** What was taken is not held any more: the assembly starts anew. */
  giveBack(): void {
    this.shared?.take(-this.used);
    this.used = 0;
  }

  /** @throws {AssemblyError} `limit` when `bytes` are more than allowed. */
  check(bytes: number): void {
    if (bytes > this.maxBytes)
      throw new AssemblyError('limit', `the answer is larger than ${this.maxBytes} bytes`);
  }
}
