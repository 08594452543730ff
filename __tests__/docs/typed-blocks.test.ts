/** The js and ts blocks of the docs that are not run pass the compiler, as in a host's editor. */
import { join, posix } from 'node:path';
import * as ts from 'typescript';
import { codeBlocks, PAGES, ROOT, readPage } from './markdown';

const CONFIG = join(ROOT, '.config/tsconfig.check.json');
/** Where the blocks seem to stand: beside the examples, which are checked in the same way. */
const FOLDER = posix.join(ROOT, 'examples');

/** Modules of a host that blocks import. */
const HOST_MODULES: Readonly<Record<string, string>> = {
  'my-queue': `export declare const queue: {
    publish(topic: string, row: object): void;
    close(): Promise<void>;
  };`,
  'my-users': `import type { IncomingMessage } from 'node:http';
  export declare function userOf(req: IncomingMessage): Promise<{ company: string } | null>;`,
};

/** Virtual files: each block, and the host's modules. */
function filesOf(blocks: readonly { info: string; text: string; name: string }[]): Map<string, string> {
  const files = new Map<string, string>();
  blocks.forEach(({ info, text }, at) => {
    files.set(`${FOLDER}/block-${at}.${info.startsWith('ts') ? 'mts' : 'mjs'}`, `${text}\nexport {};\n`);
  });
  for (const [name, text] of Object.entries(HOST_MODULES)) files.set(`${FOLDER}/${name}.d.ts`, text);
  return files;
}

/** `page:line: message` for each error in a block. */
function errorsIn(blocks: readonly { info: string; text: string; name: string; line: number }[]): string[] {
  const files = filesOf(blocks);
  const { config } = ts.readConfigFile(CONFIG, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, join(ROOT, '.config'));
  // A reader's JavaScript has no types of its own, and a sample need not use all that it makes.
  const unused = { noUnusedLocals: false, noUnusedParameters: false };
  const loose: ts.CompilerOptions = { ...options, ...unused, noImplicitAny: false };
  const host = ts.createCompilerHost(loose);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.readFile = (name) => files.get(name) ?? readFile(name);
  host.getSourceFile = (name, target, ...more) => {
    const text = files.get(name);
    return text === undefined
      ? getSourceFile(name, target, ...more)
      : ts.createSourceFile(name, text, target);
  };
  const program = ts.createProgram([...files.keys()], loose, host);
  return blocks.flatMap(({ name, line }, at) => {
    const source = program.getSourceFiles().find(({ fileName }) => fileName.includes(`/block-${at}.`));
    if (source === undefined) return [`${name}: not compiled`];
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map(({ start = 0, messageText }) => {
      const row = source.getLineAndCharacterOfPosition(start).line;
      const page = name.slice(0, name.lastIndexOf(':'));
      return `${page}:${line + 1 + row}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
  });
}

const blocks = PAGES.flatMap((page) =>
  codeBlocks(readPage(page)).map((block) => ({ ...block, name: `${page}:${block.line}` })),
).filter(({ info }) => info === 'js' || info === 'ts');

describe('js and ts blocks of the docs that are not run', () => {
  test('pass the compiler; it finds what is wrong in one', () => {
    const wrong = "import { modelGuard } from 'express-narwhal';\n\nmodelGuard({ modles: ['m'] });\n";
    expect(blocks.length).toBeGreaterThan(10);
    const all = [...blocks, { info: 'js', text: wrong, name: 'wrong.md:9', line: 9 }];
    expect(errorsIn(all)).toEqual([expect.stringMatching(/^wrong\.md:12: .*modles/)]);
  }, 120_000);
});
