/** A whole fleet: every engine, then every pair of a prefill and a decode engine. */
import { readFileSync } from 'node:fs';
import type { EngineConfig, FleetConfig } from '../../config/fleet-config';
import { loadFleetFile } from '../../config/fleet-file';
import { ConfigError } from '../../errors';
import { EngineCaller } from './call';
import { type CheckBasis, checkEngine } from './engine-check';
import { checkPair } from './pair-check';
import type { CheckReport, EngineReport, PairReport, Problem } from './report';

/** Questions that run at the same time. */
const LANES = 4;

/** What a check is told. */
export interface CheckSettings {
  readonly fleetPath: string;
  /** Seconds for one call. */
  readonly timeoutS: number;
  /** Told of each step when it is over. */
  readonly onProgress: (line: string) => void;
}

/** Checks a fleet; what is wrong with the file itself is in the report too. */
export async function checkFleet(settings: CheckSettings): Promise<CheckReport> {
  const { fleetPath } = settings;
  let config: FleetConfig;
  try {
    config = loadFleetFile(fleetPath);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const problems = textsOf(error, fleetPath).map((text): Problem => {
      return { level: 'error', subject: fleetPath, text };
    });
    return { ok: false, fleet: fleetPath, model: null, engines: [], pairs: [], problems };
  }
  const caller = new EngineCaller(config, settings.timeoutS);
  try {
    const basis = { caller, model: config.model, keyVariable: keyVariable(fleetPath) };
    return await checkConfig(config, basis, settings);
  } finally {
    await caller.close();
  }
}

/** The report names the file by itself: it must not stand there twice. */
function textsOf({ problems, message }: ConfigError, path: string): readonly string[] {
  if (problems.length > 0) return problems;
  const start = `the fleet file ${path}`;
  return [message.startsWith(start) ? message.slice(start.length).replace(/^,? /, '') : message];
}

async function checkConfig(
  config: FleetConfig,
  basis: CheckBasis,
  { fleetPath, onProgress }: CheckSettings,
): Promise<CheckReport> {
  const found = await inLanes(config.engines, async (engine) => {
    const finding = await checkEngine(basis, engine);
    onProgress(`${engine.iid}: ${finding.problems.length === 0 ? 'ok' : 'FAILED'}`);
    return finding;
  });
  const engines = found.map(({ report }) => report);
  const good = new Set(engines.filter(({ model }) => model === 'ok').map(({ iid }) => iid));
  const paired = await inLanes(pairsOf(config), async ([prefill, decode]) => {
    if (!good.has(prefill.iid) || !good.has(decode.iid))
      return { report: notAsked(prefill, decode), problems: [] };
    const finding = await checkPair(basis, prefill, decode);
    onProgress(`${prefill.iid} -> ${decode.iid}: ${finding.report.claimed === 'ok' ? 'ok' : 'FAILED'}`);
    return finding;
  });
  const problems = distinct([
    ...(config.ignored.length === 0 ? [] : [notActedOn(fleetPath, config.ignored)]),
    ...[...found, ...paired].flatMap((finding) => finding.problems),
    ...compare(engines.filter(({ role, model }) => role !== 'both' && model === 'ok')),
  ]);
  return {
    ok: problems.every(({ level }) => level !== 'error'),
    fleet: fleetPath,
    model: config.model,
    engines,
    pairs: inFileOrder(
      paired.map(({ report }) => report),
      config,
    ),
    problems,
  };
}

/** In rounds that use each engine once, so that no engine gets all its pairs at the same time. */
function pairsOf({ engines }: FleetConfig): (readonly [EngineConfig, EngineConfig])[] {
  const prefills = engines.filter(({ role }) => role === 'prefill');
  const decodes = engines.filter(({ role }) => role === 'decode');
  return decodes.flatMap((_, round) =>
    prefills.map((prefill, at) => [prefill, decodes[(at + round) % decodes.length]!] as const),
  );
}

function inFileOrder(pairs: readonly PairReport[], { engines }: FleetConfig): PairReport[] {
  const places = new Map(engines.map(({ iid }, at) => [iid, at]));
  const place = ({ prefill, decode }: PairReport): number =>
    places.get(prefill)! * engines.length + places.get(decode)!;
  return [...pairs].sort((a, b) => place(a) - place(b));
}

function notAsked(prefill: EngineConfig, decode: EngineConfig): PairReport {
  return { prefill: prefill.iid, decode: decode.iid, produced: '-', claimed: '-', ms: null };
}

function notActedOn(subject: string, ignored: readonly string[]): Problem {
  return { level: 'warning', subject, text: `nobody acts on ${ignored.join(', ')}` };
}

/** What the two ends of a handoff must have in common. */
function compare(engines: readonly EngineReport[]): Problem[] {
  const problems: Problem[] = [];
  const versions = grouped(engines, ({ version }) => version);
  const unknown = versions.get(null) ?? [];
  if (versions.size - (unknown.length > 0 ? 1 : 0) > 1) {
    const text = `run different versions (${listed(versions)}): both ends of a handoff must have the same one`;
    problems.push({ level: 'error', subject: 'fleet', text });
  }
  if (unknown.length > 0) {
    const text = 'does not tell its version at /version: make sure that all engines run the same one';
    problems.push(...unknown.map((subject): Problem => ({ level: 'warning', subject, text })));
  }
  const lengths = grouped(engines, ({ max_model_len: length }) => (length === null ? null : String(length)));
  if (lengths.size > 1) {
    const text = `have different --max-model-len (${listed(lengths)}): a prompt that one takes another may refuse`;
    problems.push({ level: 'warning', subject: 'fleet', text });
  }
  return problems;
}

function grouped(
  engines: readonly EngineReport[],
  by: (engine: EngineReport) => string | null,
): Map<string | null, string[]> {
  const groups = new Map<string | null, string[]>();
  for (const engine of engines) groups.set(by(engine), [...(groups.get(by(engine)) ?? []), engine.iid]);
  return groups;
}

function listed(groups: ReadonlyMap<string | null, readonly string[]>): string {
  return [...groups].map(([value, iids]) => `${iids.join(', ')}: ${value ?? 'unknown'}`).join('; ');
}

/** A prefill engine that hands nothing over says so once, not once for each pair. */
function distinct(problems: readonly Problem[]): Problem[] {
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}

/** The name of the variable with the engines' key; the checked fleet has only its value. */
function keyVariable(path: string): string | null {
  const text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  const { engine } = JSON.parse(text) as { engine?: { engine_api_key_env?: string } };
  return engine?.engine_api_key_env || null;
}

async function inLanes<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]!);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return results;
}
