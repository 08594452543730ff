/** What the package exports, and the rules that its source keeps: directions, sizes, ASCII. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import * as main from '../lib/index';
import * as testing from '../lib/testing/index';

const LIB = join(__dirname, '..', 'lib');

interface SourceFile {
  /** Path below lib, with `/`. */
  readonly name: string;
  readonly text: string;
}

const FILES: readonly SourceFile[] = readdirSync(LIB, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(LIB, name), 'utf8') }));

/** Rooms of lib, from the highest: a room imports from its own rank and from those below it. */
const RANKS: readonly (readonly string[])[] = [
  ['cli'],
  ['index', 'server', 'router', 'router-options', 'completion-routes'],
  ['inspection', 'middlewares', 'metrics'],
  ['journal'],
  ['context'],
  ['request', 'admission', 'serving'],
  ['engines'],
  ['config'],
  ['json'],
  ['outcomes', 'errors', 'options', 'logger', 'ids', 'roster'],
];

function roomOf(name: string): string {
  return name.split('/')[0]!.replace(/\.ts$/, '');
}

const IMPORT = /^(?:import|export)\b(?:[^'";]*?\bfrom)?\s*'([^']+)'|\b(?:require|import)\('([^']+)'\)/gm;

/** Modules that a file imports or re-exports: `relative` ones as paths below lib without an ending. */
function importsOf({ name, text }: SourceFile): { inside: string[]; outside: string[] } {
  const found = [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2]!);
  const paths = found.filter((path) => path.startsWith('.'));
  return {
    inside: paths.map((path) => normalize(join(dirname(name), path))),
    outside: found.filter((path) => !path.startsWith('.')),
  };
}

function rankOf(room: string): number {
  return RANKS.findIndex((rooms) => rooms.includes(room));
}

it('exports exactly these names', () => {
  expect(Object.keys(main).sort()).toEqual([
    'ConfigError',
    'NarwhalError',
    'admissionGate',
    'authStrip',
    'createFleet',
    'createJournal',
    'createServer',
    'dispatchEngine',
    'isNarwhalError',
    'journalRecord',
    'loadFleet',
    'modelGuard',
    'narwhalContext',
    'narwhalErrorHandler',
    'narwhalRouter',
    'outputGuard',
    'redisLimitStore',
    'samplingGuard',
    'validateCompletion',
  ]);
});

it('exports exactly these names for tests', () => {
  expect(Object.keys(testing).sort()).toEqual([
    'startStubFleet',
    'toHaveNoBreaches',
    'toHaveNoOpenHandoffs',
    'toJson',
    'toStream',
  ]);
});

it('exports what the package.json names', () => {
  const manifest = JSON.parse(readFileSync(join(LIB, '..', 'package.json'), 'utf8')) as {
    exports: Record<string, unknown>;
  };
  expect(Object.keys(manifest.exports)).toEqual(['.', './testing', './package.json']);
});

describe('the source', () => {
  it('is found by these tests', () => {
    expect(FILES.length).toBeGreaterThan(60);
    expect(FILES.flatMap((file) => importsOf(file).inside).length).toBeGreaterThan(150);
  });

  it('has a rank for every room', () => {
    const rooms = new Set(FILES.map(({ name }) => roomOf(name)).filter((room) => room !== 'testing'));
    expect([...rooms].filter((room) => rankOf(room) === -1)).toEqual([]);
  });

  it('imports only from its own rank and from those below', () => {
    const upward = FILES.filter(({ name }) => !['testing', 'cli'].includes(roomOf(name))).flatMap((file) =>
      importsOf(file)
        .inside.filter((path) => !path.startsWith('..') && rankOf(roomOf(path)) < rankOf(roomOf(file.name)))
        .map((path) => `${file.name} imports ${path}`),
    );
    expect(upward).toEqual([]);
  });

  it('reaches out of lib only for the version in package.json', () => {
    const out = FILES.flatMap((file) =>
      importsOf(file)
        .inside.filter((path) => path.startsWith('..'))
        .map((path) => `${file.name} imports ${path}`),
    );
    expect(out.filter((line) => !line.endsWith(' ../package.json'))).toEqual([]);
  });

  it('keeps testing apart: it imports nothing of the library, and only the demo imports it', () => {
    const own = FILES.filter(({ name }) => roomOf(name) === 'testing');
    const reaching = own.flatMap((file) =>
      importsOf(file).inside.filter((path) => roomOf(path) !== 'testing'),
    );
    expect(reaching).toEqual([]);
    expect(
      own.flatMap((file) => importsOf(file).outside.filter((path) => !path.startsWith('node:'))),
    ).toEqual([]);
    const users = FILES.filter(
      ({ name, text }) =>
        roomOf(name) !== 'testing' &&
        importsOf({ name, text }).inside.some((path) => roomOf(path) === 'testing'),
    );
    expect(users.map(({ name }) => roomOf(name)).filter((room) => room !== 'cli')).toEqual([]);
  });

  it.each(FILES)('keeps $name below 300 lines, in ASCII, with a named job', ({ name, text }) => {
    expect(text.split('\n').length).toBeLessThanOrEqual(300);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
    expect(text.match(/[^\x00-\x7f]/g)).toBeNull();
    expect(relative('.', name)).toMatch(/^[a-z0-9/.-]+$/);
    // Examples in doc comments may show what a host does.
    const code = text.replace(/\/\*[\s\S]*?\*\//g, '');
    if (roomOf(name) !== 'cli') expect(code).not.toMatch(/\bconsole\.|process\.(exit|on)\(/);
  });
});
