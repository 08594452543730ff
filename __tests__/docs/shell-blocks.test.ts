/** Command lines and routes in the docs: the script, the command, its flags, the file and the route exist. */
import { engineAction } from '../../lib/inspection/engine-actions';
import { routeOf } from '../../lib/request/route';
import { bare, codeBlocks, PAGES, readPage, sections, tableRows } from './markdown';
import { ROUTES } from './routes';
import { COMMANDS, commandsIn, problemOf, SCRIPTS } from './shell';

interface Line {
  readonly name: string;
  readonly words: readonly string[];
}

const blocks = PAGES.flatMap((page) =>
  codeBlocks(readPage(page)).map((block) => ({ ...block, name: `${page}:${block.line}` })),
);

const inBlocks: Line[] = blocks
  .filter(({ info }) => ['sh', 'bash', 'console', 'shell'].includes(info))
  .flatMap(({ text, name }) => commandsIn(text).map((words) => ({ name, words })));

/** Commands in backticks. A word in capitals, or in <>, stands for something. */
const inProse: Line[] = PAGES.flatMap((page) =>
  [...readPage(page).matchAll(/(?<!`)`((?:npm|npx|narwhal|node|curl|\.ci\/\w+)\b[^`\n]*)`(?!`)/g)]
    .filter(([, text]) => !/^node(_modules)?$|^node:|^npm$|^curl$|^narwhal$|\.\.\.|[<>]/.test(text!))
    .filter(([, text]) => !/^(narwhal|node|npm)[._:-]/.test(text!) && !/^node --/.test(text!))
    .flatMap(([, text]) => commandsIn(text!).map((words) => ({ name: `${page}: ${text}`, words }))),
);

const inUnits: Line[] = blocks
  .filter(({ info }) => info === 'ini')
  .flatMap(({ text, name }) =>
    [...text.matchAll(/^ExecStart=\S*\/(narwhal .*)$/gm)].flatMap(([, line]) =>
      commandsIn(line!).map((words) => ({ name, words })),
    ),
  );

const inHelp: Line[] = COMMANDS.flatMap(({ name, examples }) =>
  examples.flatMap(([line]) => commandsIn(line).map((words) => ({ name: `${name} --help`, words }))),
);

/** `METHOD /path` in backticks. */
const routes = PAGES.flatMap((page) =>
  [...readPage(page).matchAll(/`(GET|POST) (\/[^`\s]*)`/g)].map(([, method, path]) => ({
    page,
    asked: `${method} ${path}`,
  })),
);

describe('command lines of the docs', () => {
  test('are there', () => {
    expect(inBlocks.length).toBeGreaterThan(10);
    expect(inProse.length).toBeGreaterThan(5);
    expect(inUnits).toHaveLength(1);
    expect(routes.length).toBeGreaterThan(10);
  });

  test.each([...inBlocks, ...inProse, ...inUnits, ...inHelp])('$name: $words', ({ words }) => {
    expect(problemOf(words)).toBeNull();
  });

  test.each([
    ['npm run chekc', 'package.json has no script chekc'],
    ['npm run soak -- --requets 5', 'soak knows no --requets'],
    ['narwhal serv', 'narwhal knows no serv'],
    ['NAME=x npx narwhal serve --prt 1', 'unknown flag --prt (did you mean --port?)'],
    ['node examples/07.mjs', 'there is no examples/07.mjs'],
    ['curl localhost:8080/v1/chat', 'no route GET /v1/chat'],
    [`curl localhost:8080/v1/completions -d '{"prompt":}'`, 'not JSON: {"prompt":}'],
    ["vllm serve m --kv-transfer-config '{kv}'", 'not JSON: {kv}'],
    ['narwal serve', 'unknown program narwal'],
  ])('are found out where they are wrong: %s', (line, problem) => {
    expect(commandsIn(line).map(problemOf)).toEqual([problem]);
  });
});

describe('docs/contributing.md', () => {
  test('has a row for each script of package.json, but for those that npm calls by itself', () => {
    const rows = tableRows(sections(readPage('docs/contributing.md'), 2).get('Run it') ?? '');
    const named = rows.map(([script = '']) => bare(script).replace(/^npm (run )?/, ''));
    expect(named.sort()).toEqual(SCRIPTS.filter((name) => name !== 'prepack').sort());
  });
});

describe('routes in the docs', () => {
  test.each(routes)('$page: $asked is one', ({ asked }) => {
    expect(ROUTES.some((route) => route.test(asked))).toBe(true);
  });

  test('are those of the code', () => {
    expect(routeOf('/v1/chat/completions')).toBe('chat');
    expect(routeOf('/v1/completions')).toBe('completion');
    for (const verb of ['drain', 'readmit'])
      expect(engineAction(`/narwhal/engines/d0/${verb}`)).not.toBeNull();
  });
});

describe('blocks of the docs', () => {
  /** Each kind has a test: run, compiled, parsed, read as commands, or compared with what is printed. */
  const KINDS = ['js run', 'js client', 'js', 'ts', 'json', 'sh', 'ini', 'text', ''];

  test.each(blocks)('$name ($info) is of a kind that is tested', ({ info }) => {
    expect(KINDS).toContain(info);
  });
});
