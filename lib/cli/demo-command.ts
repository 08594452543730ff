/** `narwhal demo`. What it is made of is loaded when it runs. */
import type { Command } from './command';
import type * as Demo from './demo';

export const JOURNAL = 'narwhal-journal.jsonl';
export const DEFAULT_PORT = 8080;

export const demoCommand: Command = {
  name: 'demo',
  summary: 'A gateway with stub engines inside, ready for curl.',
  operands: null,
  flags: {},
  notes: [
    `It listens on PORT (default ${DEFAULT_PORT}; the next free one where that is in use) and writes its journal`,
    `to ./${JOURNAL}. The engines speak the real wire; their answers are made-up words.`,
    'The fleet page is at /narwhal/, for a browser on the same machine.',
  ],
  examples: [
    ['narwhal demo', 'start it, then paste the curl line that it prints'],
    ['PORT=9000 narwhal demo', 'on another port'],
  ],
  run: () => (require('./demo') as typeof Demo).runDemo(),
};
