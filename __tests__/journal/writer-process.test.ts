import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transformFileSync } from '@swc/core';
import { HEADER, type JournalFolder, journalFolder, numbers } from './journal-folder';

const LIB = join(__dirname, '../../lib');
const SOURCES = ['errors', 'outcomes', 'options'].concat(
  ['writer', 'writer-options', 'journal-file', 'rotation', 'row-queue', 'file-calls'].map(
    (name) => `journal/${name}`,
  ),
);

let journal: JournalFolder;
const children: ChildProcess[] = [];
beforeEach(() => {
  journal = journalFolder();
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  journal.remove();
});

/** Starts a process with `writer` open on the journal and the lines of `script` to run. */
function start(script: string, options: Record<string, unknown> = {}): ChildProcess {
  const build = join(journal.folder, 'build');
  for (const name of SOURCES) {
    const target = join(build, `${name}.js`);
    mkdirSync(dirname(target), { recursive: true });
    const { code } = transformFileSync(join(LIB, `${name}.ts`), {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
      module: { type: 'commonjs' },
      configFile: false,
      swcrc: false,
    });
    writeFileSync(target, code);
  }
  const main = join(build, 'main.js');
  writeFileSync(
    main,
    `const { JournalWriter } = require('./journal/writer.js');
     const writer = new JournalWriter(${JSON.stringify({ path: journal.path, header: HEADER, ...options })});
     ${script}`,
  );
  const child = fork(main, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: [] });
  children.push(child);
  return child;
}

describe('the writer in a process of its own', () => {
  it('has every row on file when process.exit follows close', async () => {
    const child = start(`
      for (let n = 0; n < 1500; n++) writer.write(JSON.stringify({ n, fill: 'y'.repeat(200) }));
      writer.close().then(() => process.exit(7));`);
    expect(await once(child, 'exit')).toEqual([7, null]);
    expect(readFileSync(journal.path, 'utf8').endsWith('}\n')).toBe(true);
    expect(journal.rows().map(({ n }) => n)).toEqual(numbers(1500));
  });

  it('has every row on file also where close comes in the middle of rotation', async () => {
    const child = start(
      `let n = 0;
       const timer = setInterval(() => {
         for (let i = 0; i < 100; i++) writer.write(JSON.stringify({ n: n++, fill: 'y'.repeat(200) }));
         if (n === 2000) { clearInterval(timer); writer.close().then(() => process.exit(0)); }
       }, 1);`,
      { maxBytes: 20_000, maxFiles: 50 },
    );
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(journal.rows().map(({ n }) => n)).toEqual(numbers(2000));
  });

  it('has lost nothing to SIGKILL that was written 100 ms before', async () => {
    const child = start(`
      for (let n = 0; n < 40; n++) writer.write(JSON.stringify({ n }));
      setTimeout(() => process.send('killed when you like'), 100);
      setInterval(() => undefined, 1000);`);
    await once(child, 'message');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(journal.rows().map(({ n }) => n)).toEqual(numbers(40));
  });

  it('keeps no process alive, not even while the disk refuses rows', async () => {
    const child = start(`writer.write('{"n":1}'); process.disconnect();`, { path: '/dev/full' });
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
