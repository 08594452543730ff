/** The tables of docs/fleet-file.md and docs/journal.md against the fields that there are. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadFleetFile } from '../../lib/config/fleet-file';
import { CONTROLLER, ENGINE, type Field, RECOVERY, SERVING } from '../../lib/config/fleet-schema';
import { REASONS, type Terminal } from '../../lib/outcomes';
import { tempFolder } from '../cli/narwhal';
import { thrownBy } from '../helpers/alone';
import { CHAT, HI, startGateway } from '../integration/gateway';
import { codeBlocks, readPage, sections, tableRows } from './markdown';

/** The words in backticks of a cell. */
const words = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!);

/** Key to default, both as written: a row may hold several of both. */
function documented(part: string): [string, string][] {
  return tableRows(part).flatMap(([keys, values = '']) => {
    const defaults = values
      .replaceAll('`', '')
      .split(',')
      .map((text) => text.trim());
    return words(keys).map((key, at): [string, string] => [key, defaults[at] ?? '']);
  });
}

/** Key to default, as in the code. */
function defined(fields: object, prefix = ''): [string, string][] {
  return (Object.values(fields) as Field<unknown>[]).map(({ key, fallback }) => [
    `${prefix}${key}`,
    String(fallback),
  ]);
}

describe('docs/fleet-file.md', () => {
  const page = sections(readPage('docs/fleet-file.md'), 2);
  const [, serving = '', engine = '', others = ''] = (page.get('Limits and times') ?? '').split(
    /^`(?:serving|engine|recovery)`.*$/m,
  );

  test('has every field of serving, with its default', () => {
    expect(documented(serving).sort()).toEqual(defined(SERVING).sort());
  });

  test('has every field of engine, with its default', () => {
    const listed = documented(engine).filter(([key]) => key !== 'engine_api_key_env');
    expect(listed.sort()).toEqual(defined(ENGINE).sort());
  });

  test('has every field of recovery and controller, with its default', () => {
    const listed = documented(others).map(([key, value]) => [key.replace(/^\w+\./, ''), value]);
    expect(listed.sort()).toEqual([...defined(RECOVERY), ...defined(CONTROLLER)].sort());
  });

  test('shows the message of a bad file as it is', () => {
    const shown = codeBlocks(readPage('docs/fleet-file.md')).find(({ text }) => /problems$/m.test(text));
    const path = join(tempFolder(), 'fleet.json');
    const engines = [
      { iid: 'p0', url: 'http://10.0.0.1:8000', role: 'both' },
      { iid: 'd0', url: '10.0.0.2:8000' },
    ];
    writeFileSync(path, JSON.stringify({ model: 'm', engines, serving: { max_conections: 1 } }));
    const message = thrownBy(() => loadFleetFile(path))?.message.replace(path, './fleet.json');
    expect(message?.split('\n').sort()).toEqual(shown?.text.trimEnd().split('\n').sort());
  });
});

describe('docs/journal.md', () => {
  const rows = sections(readPage('docs/journal.md'), 2).get('Rows') ?? '';

  test('lists every field of a row, in the order of the row', async () => {
    const gateway = await startGateway();
    await gateway.post(CHAT, { messages: HI });
    expect(tableRows(rows).flatMap(([cell]) => words(cell))).toEqual(Object.keys(await gateway.row()));
  });

  test('lists every reason under its terminal', () => {
    const table = tableRows(rows.slice(rows.indexOf('| `terminal`  |')));
    const listed = table.flatMap(([terminal = '', reasons]) =>
      words(reasons).map((reason) => `${words(terminal)[0]} ${reason}`),
    );
    const known = [...REASONS].flatMap(([reason, terminals]: [string, readonly Terminal[]]) =>
      terminals.map((terminal) => `${terminal} ${reason}`),
    );
    expect(listed.sort()).toEqual(known.sort());
  });
});
