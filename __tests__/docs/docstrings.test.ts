/** Every public export says what it is for; every option what happens without it; every example compiles. */
import { type DocumentedItem, publicItems, typeErrors } from './docstrings';

const items = publicItems();

function named(found: readonly DocumentedItem[]): readonly string[] {
  return found.map(({ name }) => name);
}

/** The code of an `@example`, out of its fence. */
function codeOf(example: string): string {
  return /^```ts\n([\s\S]*?)\n```$/m.exec(example)?.[1] ?? '';
}

const examples = items.flatMap(({ name, tags }) =>
  (tags.get('example') ?? []).map((example) => ({ name, code: codeOf(example) })),
);

describe('the doc comments of the public API', () => {
  it('are found', () => {
    const names = named(items);
    expect(names).toEqual(expect.arrayContaining(['narwhalRouter', 'NarwhalRouterOptions.fleet']));
    expect(names).toEqual(
      expect.arrayContaining(['startStubFleet', 'StubFleet.close', 'ConfigError.problems']),
    );
    expect(names).not.toContain('Fleet.transport');
  });

  it('are on every export and on every member of one', () => {
    expect(named(items.filter(({ text }) => text === ''))).toEqual([]);
  });

  it('say of every option what happens without it', () => {
    const options = items.filter(({ isOption }) => isOption);
    expect(options.length).toBeGreaterThan(50);
    const silent = options.filter(({ text, tags }) => !tags.has('default') && !/\bdefaults?\b/i.test(text));
    expect(named(silent)).toEqual([]);
  });

  it('have an example at every function', () => {
    const functions = items.filter(({ isFunction }) => isFunction);
    expect(functions.length).toBeGreaterThan(20);
    expect(named(functions.filter(({ tags }) => !tags.has('example')))).toEqual([]);
    expect(examples.filter(({ code }) => code === '').map(({ name }) => name)).toEqual([]);
  });

  it('say what is thrown at every factory that takes options', () => {
    const factories = items.filter(({ name, isFunction }) => isFunction && !WITHOUT_ERRORS.has(name));
    expect(named(factories.filter(({ tags }) => !tags.has('throws')))).toEqual([]);
  });

  it('hold examples that compile', () => {
    const found = typeErrors(examples.map(({ code }) => code));
    const problems = examples.map(({ name }, at) => ({ name, errors: found[at] }));
    expect(problems.filter(({ errors }) => errors?.length !== 0)).toEqual([]);
    expect(typeErrors(["import { narwhalRuoter } from 'express-narwhal';"])[0]).not.toEqual([]);
  }, 60_000);
});

/** They take no options, or never throw. */
const WITHOUT_ERRORS = new Set([
  'isNarwhalError',
  'narwhalContext',
  'narwhalErrorHandler',
  'toHaveNoBreaches',
  'toHaveNoOpenHandoffs',
  'toJson',
  'toStream',
]);
