import fc from 'fast-check';
import type { JournalRow } from '../../lib/journal/row';
import { rowText } from '../../lib/journal/row-text';

const words = fc.option(
  fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constant('\ud800 "\\\n\u007f')),
);
/** Seconds as rows have them: whole microseconds. */
const seconds = fc
  .oneof(fc.nat(2_000_000), fc.integer({ min: -5, max: 2 ** 52 }), fc.constantFrom(1e15, 1e15 - 1, 1_234_000))
  .map((micro) => micro / 1e6);
const numbers = fc.option(fc.oneof(fc.integer(), fc.double(), seconds));
const flags = fc.option(fc.boolean());

const rows = fc.record({
  run: fc.string(),
  rid: fc.string(),
  client_rid: words,
  tenant: words,
  route: fc.string(),
  stream: flags,
  at: fc.constant('2026-11-30T01:02:03.004Z'),
  arrived: fc.oneof(fc.double(), seconds),
  input_len: numbers,
  output_len: numbers,
  wanted_len: numbers,
  ttft_s: numbers,
  first_byte_s: numbers,
  tpot_s: numbers,
  queue_wait_s: numbers,
  price_s: numbers,
  shadow: words,
  duration_s: fc.oneof(fc.double(), seconds),
  prefill_iid: words,
  decode_iid: words,
  crossed: flags,
  terminal: fc.constant('completed'),
  reason: words,
  cancelled_phase: words,
  status: fc.integer(),
  attempts: fc.nat(),
  decode_attempts: fc.nat(),
  attempt_failures: fc.array(fc.record({ attempt: fc.nat(), message: fc.string() })),
  kv: words,
  parts: numbers,
  finish_reason: words,
  error: words,
}) as unknown as fc.Arbitrary<JournalRow>;

describe('the text of a row', () => {
  it('is what JSON.stringify would write', () => {
    fc.assert(
      fc.property(rows, (row) => {
        expect(rowText(row)).toBe(JSON.stringify(row));
      }),
      { numRuns: 1000 },
    );
  });
});
