/** docs/architecture.md against lib/: the files that it names, and the direction of imports. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { codeBlocks, ROOT, readPage, sections, tableRows } from './markdown';

const page = readPage('docs/architecture.md');
const BASE = ['outcomes', 'errors', 'options', 'logger', 'ids', 'roster'];

const files = readdirSync(join(ROOT, 'lib'), { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => name.endsWith('.ts'));

/** The room of a path below lib/. */
function roomOf(path: string): string {
  const [first = '', ...rest] = path.split('/');
  if (rest.length > 0 || first === 'testing') return first;
  const name = first.replace(/\.ts$/, '');
  if (BASE.includes(name)) return 'base';
  return name === 'context' ? 'context' : 'router';
}

/** `from -> to (file)` for each import between two rooms. */
function importsBetweenRooms() {
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, 'lib', file), 'utf8');
    return [...text.matchAll(/\bfrom '(\.[^']*)'/g)]
      .map((match) => ({
        file,
        from: roomOf(file),
        to: roomOf(posix.join(posix.dirname(file), match[1]!)),
      }))
      .filter(({ from, to }) => from !== to);
  });
}

const rooms = tableRows(sections(page, 2).get('Who may import whom') ?? '').map(
  ([room = '', allowed = '']) => ({
    room: room.replaceAll('`', ''),
    allowed: allowed.split(',').map((name) => name.replaceAll('`', '').trim()),
  }),
);

describe('docs/architecture.md', () => {
  test('names every room of lib/', () => {
    const folders = new Set(files.map(roomOf));
    expect(rooms.map(({ room }) => room).sort()).toEqual([...folders].sort());
  });

  test('lets imports run down only', () => {
    const order = rooms.map(({ room }) => room);
    for (const [at, { allowed }] of rooms.entries()) {
      for (const name of allowed.filter((word) => word !== '')) {
        expect(order.indexOf(name)).toBeGreaterThan(at);
      }
    }
  });

  test('allows every import that there is', () => {
    const wrong = importsBetweenRooms().filter(
      ({ from, to }) => !rooms.some(({ room, allowed }) => room === from && allowed.includes(to)),
    );
    expect(wrong.map(({ file, to }) => `${file} -> ${to}`)).toEqual([]);
  });

  test('has express imported as a value by the router and the command only', () => {
    const importers = files.filter((file) =>
      /^import (?!type )[^;]*from 'express'/m.test(readFileSync(join(ROOT, 'lib', file), 'utf8')),
    );
    expect(importers.filter((file) => file !== 'router.ts' && !file.startsWith('cli/'))).toEqual([]);
  });

  test('names every set and map that outlives the call that made it', () => {
    const fields = files
      .filter((file) => !/^(cli|testing)\//.test(file))
      .flatMap((file) => {
        const text = readFileSync(join(ROOT, 'lib', file), 'utf8');
        // A field of a class, or an empty one of a module: what is built full and stays as it is, costs nothing.
        const made =
          /^(?: {2}(?:private )?(?:readonly )?|const )(#?\w+)(?:: [^=\n]+)? = new (?:Weak)?(?:Set|Map)\b[^(\n]*\(\)/gm;
        return [...text.matchAll(made)].map((match) => `${file} ${match[1]!}`);
      });
    const listed = tableRows(sections(page, 2).get('Sets and maps that live long') ?? '').map(
      ([field = '']) => field.replaceAll('`', ''),
    );
    expect(fields.sort()).toEqual(listed.sort());
  });

  test('draws files that are there', () => {
    const [tree] = codeBlocks(page);
    let folder = '';
    for (const line of (tree?.text ?? '').split('\n').slice(1)) {
      const names = line.split(/ {2,}/).filter((word) => /^[a-z-]+(\.ts|\/)$/.test(word));
      const inner = line.startsWith('    ');
      if (!inner) folder = names[0]?.endsWith('/') ? names[0] : '';
      for (const name of names) {
        const path = inner ? `${folder}${name}` : name;
        expect({ path, exists: existsSync(join(ROOT, 'lib', path)) }).toEqual({ path, exists: true });
      }
    }
  });
});
