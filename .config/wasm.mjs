// Writes lib/json/long-strings.wat, as a WebAssembly module in base64, into lib/json/long-strings-wasm.ts.
import { readFileSync, writeFileSync } from 'node:fs';
import loadWabt from 'wabt';

const SOURCE = 'lib/json/long-strings.wat';
const TARGET = 'lib/json/long-strings-wasm.ts';

const wabt = await loadWabt();
const parsed = wabt.parseWat(SOURCE, readFileSync(SOURCE, 'utf8'), { simd: true });
parsed.validate();
const base64 = Buffer.from(parsed.toBinary({}).buffer).toString('base64');
const lines = base64.match(/.{1,100}/g).map((line) => `  '${line}'`);
writeFileSync(
  TARGET,
  `/** Made from long-strings.wat by \`npm run wasm\`, and not changed by hand: a test compares the two. */

/** The module, in base64. */
export const LONG_STRINGS_WASM =
${lines.join(' +\n')};
`,
);
