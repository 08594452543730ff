/** The code in the docs: it parses, and imports what there is. Blocks marked `run` are run elsewhere. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ImportDeclaration, type Module, parseSync } from '@swc/core';
import * as narwhal from '../../lib';
import * as testing from '../../lib/testing';
import { codeBlocks, PAGES, ROOT, readPage } from './markdown';

const SCRIPT = /^(js|mjs|cjs|ts)\b/;

/** Names that a module of this package exports, types included. */
function exportsOf(source: string, values: object): readonly string[] {
  const text = readFileSync(join(ROOT, source), 'utf8');
  const types = [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap((match) =>
    match[1]!.split(',').map((name) => name.replace(/\btype\b/, '').trim()),
  );
  return [...Object.keys(values), ...types];
}

const EXPORTS: Readonly<Record<string, readonly string[]>> = {
  'express-narwhal': exportsOf('lib/index.ts', narwhal),
  'express-narwhal/testing': exportsOf('lib/testing/index.ts', testing),
};

const blocks = PAGES.flatMap((page) =>
  codeBlocks(readPage(page)).map((block) => ({ ...block, name: `${page}:${block.line}` })),
);

function parse(text: string, info: string): Module {
  const syntax = info.startsWith('ts')
    ? ({ syntax: 'typescript' } as const)
    : ({ syntax: 'ecmascript' } as const);
  return parseSync(text, { ...syntax, target: 'es2022' });
}

/** `module: name` for each import that is none. */
function unknownImports({ body }: Module): string[] {
  const imports = body.filter((item): item is ImportDeclaration => item.type === 'ImportDeclaration');
  return imports.flatMap(({ source, specifiers }) => {
    const from = source.value;
    if (!from.startsWith('express-narwhal')) return [];
    const known = EXPORTS[from] ?? [];
    const names = specifiers.map((one) =>
      one.type === 'ImportSpecifier' ? (one.imported ?? one.local).value : one.type,
    );
    return names.filter((name) => !known.includes(name)).map((name) => `${from}: ${name}`);
  });
}

describe('code in the docs', () => {
  const scripts = blocks.filter(({ info }) => SCRIPT.test(info));
  const json = blocks.filter(({ info }) => info === 'json');

  test('is there', () => {
    expect(scripts.length).toBeGreaterThan(5);
    expect(json.length).toBeGreaterThan(2);
  });

  test.each(scripts)('$name parses, and imports names that are exported', ({ text, info }) => {
    expect(unknownImports(parse(text, info))).toEqual([]);
  });

  test.each(json)('$name is JSON', ({ text }) => {
    expect(() => JSON.parse(text) as unknown).not.toThrow();
  });

  test('finds an import that does not exist', () => {
    const wrong = parse("import { narwhalRouter, narwhalRuoter } from 'express-narwhal';", 'js');
    expect(unknownImports(wrong)).toEqual(['express-narwhal: narwhalRuoter']);
  });
});
