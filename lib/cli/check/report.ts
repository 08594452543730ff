/** What a check has found: plain data, and how it is shown. */
import type { EngineRole } from '../../config/fleet-config';
import { count, printable, tableLines } from '../table';

/** How a question went; `-` where it was not asked. */
export type Mark = 'ok' | 'FAILED' | '-';

/** Something that an operator should do. */
export interface Problem {
  readonly level: 'error' | 'warning';
  /** Engine, pair of engines, or `fleet`. */
  readonly subject: string;
  /** What is wrong, and what to do about it. */
  readonly text: string;
}

/** One engine. */
export interface EngineReport {
  readonly iid: string;
  readonly role: EngineRole;
  readonly url: string;
  readonly reachable: Mark;
  readonly key: Mark;
  readonly model: Mark;
  /** One-token request in one leg; only for role `both`. */
  readonly answer: Mark;
  readonly version: string | null;
  readonly max_model_len: number | null;
}

/** One prefill engine with one decode engine. */
export interface PairReport {
  readonly prefill: string;
  readonly decode: string;
  readonly produced: Mark;
  readonly claimed: Mark;
  /** Both legs together, ms; null where they were not run to their end. */
  readonly ms: number | null;
}

/** The whole check. */
export interface CheckReport {
  readonly ok: boolean;
  readonly fleet: string;
  readonly model: string | null;
  readonly engines: readonly EngineReport[];
  readonly pairs: readonly PairReport[];
  readonly problems: readonly Problem[];
}

/** The tables: one line for each engine and each pair. */
export function reportLines({ fleet, model, engines, pairs }: CheckReport): string[] {
  const engineRows = engines.map((engine) => [
    engine.iid,
    engine.role,
    engine.reachable,
    engine.key,
    engine.model,
    engine.answer,
    engine.version ?? '-',
    engine.url,
  ]);
  const pairRows = pairs.map(({ prefill, decode, produced, claimed, ms }) => [
    `${prefill} -> ${decode}`,
    produced,
    claimed,
    ms === null ? '-' : String(Math.round(ms)),
  ]);
  const engineHead = ['engine', 'role', 'reachable', 'key', 'model', 'answer', 'version', 'url'];
  return [
    `${printable(fleet)}: ${printable(model ?? '?')}, ${count(engines.length, 'engine')}`,
    '',
    ...tableLines(engineHead, engineRows),
    ...(pairs.length === 0 ? [] : ['', ...tableLines(['pair', 'handoff', 'claimed', 'ms'], pairRows, [3])]),
  ];
}

/** The problems, errors first, and the verdict. */
export function verdictLines({ ok, problems }: CheckReport): string[] {
  const of = (level: Problem['level']) => problems.filter((problem) => problem.level === level);
  const errors = of('error');
  const warnings = of('warning');
  const tally = [
    ...(errors.length > 0 ? [count(errors.length, 'error')] : []),
    ...(warnings.length > 0 ? [count(warnings.length, 'warning')] : []),
  ].join(', ');
  return [
    ...[...errors, ...warnings].map(
      ({ level, subject, text }) => `${level}: ${printable(subject)}: ${printable(text)}`,
    ),
    `${ok ? 'the fleet is good' : 'the fleet is not good'}${tally === '' ? '' : `: ${tally}`}`,
  ];
}
