/** docs/observability.md, the dashboard and the alert rules against the series that there are. */
import { GEN_AI_BUCKETS } from '../../lib/inspection/buckets';
import { SERIES, type SeriesText } from '../../lib/inspection/series';
import { REASONS } from '../../lib/outcomes';
import { call } from '../helpers/call';
import { startGateway } from '../helpers/create-app';
import { bare, readPage, sections, tableRows } from './markdown';

const page = readPage('docs/observability.md');
const byName: Readonly<Record<string, SeriesText>> = SERIES;

/** Labels that Prometheus itself puts on a series, and the one of histogram buckets. */
const OUTSIDE = ['job', 'instance', 'le'];

interface Query {
  readonly where: string;
  readonly expr: string;
}

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const dashboard = JSON.parse(readPage('docs/observability/grafana-dashboard.json')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly query: string | { readonly query: string } }[] };
};

const rules = readPage('docs/observability/prometheus-alerts.yml')
  .split(/^ {6}- alert: /m)
  .slice(1)
  .map((text) => ({
    name: text.slice(0, text.indexOf('\n')),
    expr: /^ {8}expr: (.+)$/m.exec(text)?.[1] ?? '',
    severity: /^ {10}severity: (.+)$/m.exec(text)?.[1],
    summary: /^ {10}summary: (.+)$/m.exec(text)?.[1] ?? '',
  }));

const QUERIES: readonly Query[] = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: `panel ${title}`, expr })),
  ),
  ...rules.map(({ name, expr }) => ({ where: `alert ${name}`, expr })),
];

/** Names in a query, each with the labels that it is chosen or grouped by. */
function namesIn(expr: string): { name: string; matchers: [label: string, value: string][] }[] {
  return [...expr.matchAll(/\b(narwhal_\w+)(?:\{([^}]*)\})?/g)].map((match) => ({
    name: match[1]!,
    matchers: [...(match[2] ?? '').matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g)].map((matcher) => [
      matcher[1]!,
      matcher[2]!,
    ]),
  }));
}

/** The series that a name in a query is of: a histogram has three. */
function seriesOf(name: string): SeriesText | undefined {
  const base = name.replace(/_(bucket|sum|count)$/, '');
  const histogram = byName[base];
  if (base !== name && histogram?.type === 'histogram') return histogram;
  return byName[name]?.type === 'histogram' ? undefined : byName[name];
}

describe('docs/observability.md', () => {
  test('explains every series, in the order of the code, with its type, labels and words', () => {
    const rows = tableRows(sections(page, 2).get('Series') ?? '');
    const told = rows.map(([name = '', type, labels = '', help]) => [
      bare(name),
      { type, labels: labels === '' ? [] : labels.split(', ').map(bare), help: help?.replace(/\.$/, '') },
    ]);
    expect(told).toEqual(Object.entries(SERIES));
  });

  test('has the series that GET /metrics shows, and no other', async () => {
    const { url } = await startGateway();
    const { text } = await call(`${url}/metrics`, { method: 'GET' });
    const shown = [...text.matchAll(/^# TYPE (narwhal_\w+) /gm)].map((match) => match[1]!);
    expect(shown.sort()).toEqual(Object.keys(SERIES).sort());
  });

  test('names the GenAI histograms whose buckets are those of the conventions', () => {
    const section = sections(page, 2).get('OpenTelemetry') ?? '';
    for (const name of ['request.duration', 'time_to_first_token', 'time_per_output_token']) {
      expect(section).toContain(`\`gen_ai.server.${name}\``);
    }
    const { duration, firstToken, perToken } = GEN_AI_BUCKETS;
    expect(duration).toEqual(Array.from({ length: 14 }, (_, at) => Number((0.01 * 2 ** at).toFixed(2))));
    expect([firstToken[0], firstToken.at(-1), firstToken.length]).toEqual([0.001, 10, 16]);
    expect([perToken[0], perToken.at(-1), perToken.length]).toEqual([0.01, 2.5, 13]);
  });
});

describe('the dashboard and the alert rules', () => {
  test('are found by these tests', () => {
    expect(dashboard.panels.length).toBeGreaterThan(20);
    expect(rules.length).toBeGreaterThan(10);
    expect(QUERIES.every(({ expr }) => /\bnarwhal_/.test(expr))).toBe(true);
  });

  test.each(QUERIES)('$where asks for series and labels that exist', ({ expr }) => {
    const names = namesIn(expr);
    for (const { name, matchers } of names) {
      const series = seriesOf(name);
      expect({ name, exists: series !== undefined }).toEqual({ name, exists: true });
      for (const [label] of matchers) expect([...series!.labels, ...OUTSIDE]).toContain(label);
    }
    const known = names.flatMap(({ name }) => seriesOf(name)?.labels ?? []);
    for (const [, list = ''] of expr.matchAll(/\b(?:by|without) \(([^)]*)\)/g)) {
      for (const label of list.split(', ')) expect([...known, ...OUTSIDE]).toContain(label);
    }
  });

  test.each(QUERIES)('$where takes rates of counters and buckets only, in closed brackets', ({ expr }) => {
    for (const [, name = ''] of expr.matchAll(/\b(?:rate|increase)\((\w+)/g)) {
      expect([name, seriesOf(name)?.type]).toEqual([name, expect.stringMatching(/^(counter|histogram)$/)]);
    }
    let depth = 0;
    for (const char of expr.replace(/"[^"]*"/g, '')) {
      if ('([{'.includes(char)) depth++;
      if (')]}'.includes(char)) depth--;
      expect(depth).toBeGreaterThanOrEqual(0);
    }
    expect(depth).toBe(0);
  });

  test('name terminals, reasons, classes and states that there are', async () => {
    const { url } = await startGateway({ fleetFile: { slo: { ttft_s: 1, tpot_s: 1 } } });
    const { text } = await call(`${url}/metrics`, { method: 'GET' });
    const values = new Set([...text.matchAll(/(\w+="[^"]*")/g)].map((match) => match[1]!));
    for (const { where, expr } of QUERIES) {
      for (const { matchers } of namesIn(expr)) {
        for (const [label, value] of matchers.filter(([name]) => !OUTSIDE.includes(name))) {
          for (const word of value.split('|')) {
            expect([where, label, word, values.has(`${label}="${word}"`)]).toEqual([
              where,
              label,
              word,
              true,
            ]);
          }
        }
      }
    }
    expect(REASONS.has('internal')).toBe(true);
  });

  test('use every series at least once', () => {
    const used = new Set(
      QUERIES.flatMap(({ expr }) =>
        namesIn(expr).map(({ name }) => (name in byName ? name : name.replace(/_(bucket|sum|count)$/, ''))),
      ),
    );
    expect(Object.keys(SERIES).filter((name) => !used.has(name))).toEqual([]);
  });

  test('give each alert a severity and a sentence, and no name twice', () => {
    for (const { name, severity, summary } of rules) {
      expect(name).toMatch(/^Narwhal[A-Z]\w+$/);
      expect([name, severity]).toEqual([name, expect.stringMatching(/^(warning|critical)$/)]);
      expect(summary).toMatch(/^[A-Z].*\.$/);
    }
    expect(new Set(rules.map(({ name }) => name)).size).toBe(rules.length);
  });
});
