/** docs/middlewares.md and the router's options against the factories. */

import type {
  AdmissionGateOptions,
  AuthStripOptions,
  DispatchEngineOptions,
  JournalRecordOptions,
  ModelGuardOptions,
  NarwhalRouterOptions,
  OutputGuardOptions,
  SamplingGuardOptions,
  ValidateCompletionOptions,
} from '../../lib';
import * as narwhal from '../../lib';
import { ROUTER_KEYS } from '../../lib/router-options';
import { bare, readPage, sections, tableRows } from './markdown';

const HEADINGS = ['Purpose', 'Options', 'Reads and writes', 'Errors', 'Alone'];

/** Every option of every middleware; the compiler holds each list complete and free of others. */
const OPTIONS = {
  journalRecord: keys<JournalRecordOptions>({ journal: 1 }),
  authStrip: keys<AuthStripOptions>({ apiKeys: 1, authenticate: 1, onError: 1 }),
  validateCompletion: keys<ValidateCompletionOptions>({ route: 1, requireInput: 1, maxBytes: 1, onError: 1 }),
  outputGuard: keys<OutputGuardOptions>({ maxBytes: 1, onError: 1 }),
  modelGuard: keys<ModelGuardOptions>({ models: 1, maxBytes: 1, onError: 1 }),
  samplingGuard: keys<SamplingGuardOptions>({ maxBytes: 1, onError: 1 }),
  admissionGate: keys<AdmissionGateOptions>({
    maxConnections: 1,
    queueCapacity: 1,
    queueTimeoutS: 1,
    seats: 1,
    maxDelayS: 1,
    limitStore: 1,
    fleet: 1,
    stateFile: 1,
    logger: 1,
    onError: 1,
  }),
  dispatchEngine: keys<DispatchEngineOptions>({ fleet: 1, logger: 1, onError: 1 }),
  narwhalErrorHandler: [] as string[],
};

function keys<T>(all: Record<keyof T, 1>): string[] {
  return Object.keys(all);
}

const page = sections(readPage('docs/middlewares.md'), 2);

/** The options that a section's table lists. */
function documented(section: string): string[] {
  return tableRows(sections(section, 3).get('Options') ?? '').map(([name = '']) => bare(name));
}

const fleet = narwhal.createFleet({
  model: 'm',
  engines: [{ iid: 'b0', url: 'http://127.0.0.1:9', role: 'both' }],
});
const journal = narwhal.createJournal(false);
afterAll(async () => {
  await journal.close();
  await fleet.close();
});

/** Each factory with no more than it needs, and one more option: an unknown key throws, also when undefined. */
const MAKE: Readonly<Record<string, (more: object) => unknown>> = {
  journalRecord: (more) => narwhal.journalRecord({ journal, ...more }),
  authStrip: (more) => narwhal.authStrip(more),
  validateCompletion: (more) => narwhal.validateCompletion(more),
  outputGuard: (more) => narwhal.outputGuard(more),
  modelGuard: (more) => narwhal.modelGuard({ models: ['m'], ...more }),
  samplingGuard: (more) => narwhal.samplingGuard(more),
  admissionGate: (more) => narwhal.admissionGate(more),
  dispatchEngine: (more) => narwhal.dispatchEngine({ fleet, ...more }),
};

const REQUIRED = ['journal', 'models', 'fleet'];

describe('docs/middlewares.md', () => {
  test('has a section for each middleware, in the order of the pipeline', () => {
    expect([...page.keys()]).toEqual(Object.keys(OPTIONS));
  });

  test.each([...page])('%s has the five headings', (_name, section) => {
    expect([...sections(section, 3).keys()]).toEqual(HEADINGS);
  });

  test.each(Object.entries(OPTIONS))('%s lists all its options and no other', (name, options) => {
    expect(documented(page.get(name) ?? '').sort()).toEqual([...options].sort());
  });

  test.each(Object.keys(MAKE))('%s accepts each option that is listed, and names a misspelt one', (name) => {
    const make = MAKE[name]!;
    for (const option of documented(page.get(name) ?? '')) {
      if (!REQUIRED.includes(option)) expect(() => make({ [option]: undefined })).not.toThrow();
      expect(() => make({ [`${option}X`]: undefined })).toThrow(`did you mean ${option}?`);
    }
  });

  test('states the defaults of numbers as they are', () => {
    const rows = tableRows(sections(page.get('admissionGate') ?? '', 3).get('Options') ?? '');
    const limits = Object.fromEntries(rows.map(([name = '', value = '']) => [bare(name), value]));
    expect(limits).toMatchObject({
      maxConnections: String(fleet.config.serving.maxConnections),
      queueCapacity: String(fleet.config.serving.queueCapacity),
      queueTimeoutS: String(fleet.config.serving.queueTimeoutS),
    });
    for (const [name, section] of page) {
      const row = tableRows(sections(section, 3).get('Options') ?? '').find(
        ([cell]) => cell === '`maxBytes`',
      );
      if (row !== undefined)
        expect([name, row[1]]).toEqual([name, String(fleet.config.serving.maxRequestBytes)]);
    }
  });
});

describe('docs/getting-started.md', () => {
  test('lists every option of narwhalRouter and no other', () => {
    const section = sections(readPage('docs/getting-started.md'), 2).get('Options of the router') ?? '';
    const listed: string[] = tableRows(section).map(([name = '']) => bare(name));
    const known: (keyof NarwhalRouterOptions)[] = [...ROUTER_KEYS];
    expect(listed.sort()).toEqual(known.sort());
  });
});
