/** The module that is loaded is the one whose source is read. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import loadWabt from 'wabt';
import { LONG_STRINGS_WASM } from '../../lib/json/long-strings-wasm';

it('is made from long-strings.wat as it is (npm run wasm)', async () => {
  const source = readFileSync(join(__dirname, '../../lib/json/long-strings.wat'), 'utf8');
  const wabt = await loadWabt();
  const parsed = wabt.parseWat('long-strings.wat', source, { simd: true });
  parsed.validate();
  expect(Buffer.from(parsed.toBinary({}).buffer).toString('base64')).toBe(LONG_STRINGS_WASM);
});
