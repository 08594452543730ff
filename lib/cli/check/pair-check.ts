/** One prefill engine with one decode engine: a handoff is made, and taken. */
import { nanoid } from 'nanoid';
import type { EngineConfig } from '../../config/fleet-config';
import { nixl } from '../../engines/connectors/nixl';
import { failedCompletion, keyRefused, noHandoff, notClaimed, silence, unreachableHost } from './advice';
import type { Reply } from './call';
import { completionBody, hasChoice } from './completion';
import type { CheckBasis } from './engine-check';
import type { PairReport, Problem } from './report';

/** One pair's part of the report. */
export interface PairFinding {
  readonly report: PairReport;
  readonly problems: readonly Problem[];
}

/** Sends one token through both legs. Each pair has a prefill of its own: a handoff is used once. */
export async function checkPair(
  basis: CheckBasis,
  prefill: EngineConfig,
  decode: EngineConfig,
): Promise<PairFinding> {
  const { caller, model } = basis;
  const id = `check-${nanoid()}-a1`;
  const pair = { prefill: prefill.iid, decode: decode.iid };
  const first = await caller.ask(prefill, completionBody(model, `${id}-prefill`, id, nixl.question));
  const handoff = readHandoff(first);
  if (handoff.text === null) {
    const text = silence(prefill, first) ?? handoff.problem ?? legTrouble(basis, 'its prefill leg', first);
    const problem = { level: 'error', subject: prefill.iid, text } as const;
    return { report: { ...pair, produced: 'FAILED', claimed: '-', ms: null }, problems: [problem] };
  }
  const address = unreachableHost(prefill, handoff.text);
  const warnings =
    address === null ? [] : [{ level: 'warning', subject: prefill.iid, text: address } as const];
  const second = await caller.ask(decode, completionBody(model, `${id}-decode`, id, handoff.text));
  if (second.status === 200 && hasChoice(second.body)) {
    const report = { ...pair, produced: 'ok', claimed: 'ok', ms: first.ms + second.ms } as const;
    return { report, problems: warnings };
  }
  const report = { ...pair, produced: 'ok', claimed: 'FAILED', ms: null } as const;
  const text = silence(decode, second) ?? claimTrouble(basis, second);
  const subject = `${prefill.iid} -> ${decode.iid}`;
  return { report, problems: [...warnings, { level: 'error', subject, text }] };
}

function readHandoff({ status, body }: Reply): { text: string | null; problem: string | null } {
  if (status !== 200 || !hasChoice(body)) return { text: null, problem: null };
  const value = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
  const reading = nixl.take(body, value);
  if (reading.kind === 'handoff') return { text: reading.text.toString('utf8'), problem: null };
  return { text: null, problem: noHandoff(reading.detail) };
}

function claimTrouble(basis: CheckBasis, reply: Reply): string {
  const { status } = reply;
  // 4xx: it did not like the request; anything else: it could not get the KV cache.
  if (status >= 400 && status < 500) return legTrouble(basis, 'the decode leg', reply);
  return notClaimed(reply);
}

function legTrouble({ keyVariable }: CheckBasis, what: string, reply: Reply): string {
  const { status } = reply;
  return status === 401 || status === 403 ? keyRefused(status, keyVariable) : failedCompletion(what, reply);
}
