// The measures by name. Each takes a harness and `{ rounds, seconds, warm, tick, note }`, and returns the figures
// of its rows in `rows.mjs`.
import { assembly } from './assembly.mjs';
import { block } from './block.mjs';
import { journal } from './journal.mjs';
import { json, server } from './json.mjs';
import { many } from './many.mjs';
import { memory } from './memory.mjs';
import { peers } from './peers.mjs';
import { prompts } from './prompts.mjs';
import { stream } from './stream.mjs';

export const MEASURES = { json, stream, prompts, assembly, journal, block, memory, many, peers, server };
