import { randomBytes } from 'node:crypto';
import { scriptedHeaders, streamHead } from './answer-head';
import { checkHead, checkRequestId } from './check-head';
import { checkDecode, checkPrefill, checkSingle } from './check-legs';
import { INTERNAL_ERROR, plainRefusal } from './envelope';
import type { GenerationRequest } from './generation-request';
import type { StubHandoff } from './handoff-ledger';
import { playStream, playWhole } from './play';
import { refuseCompletion, refuseKey } from './refusals';
import { generationFor, sendStream, sendWhole } from './send-generation';
import { refusalAnswer, type SmallAnswer, smallAnswer } from './small-endpoints';
import { isProbe, isReclaim, routeOf } from './stub-call';
import { contextOf, type Turn } from './turn';

function sendSmall(turn: Turn, answer: SmallAnswer): Promise<void> {
  const type = answer.type === '' ? {} : { 'content-type': answer.type };
  return playWhole(contextOf(turn), Buffer.from(answer.text), (length) =>
    turn.wire.head(answer.status, {
      ...type,
      ...(length !== null && { 'content-length': String(length) }),
      ...scriptedHeaders(turn.script),
    }),
  );
}

/** The answer that a script sets in place of any generation: a status, a body or a redirect. */
function scriptedAnswer({ script }: Turn): SmallAnswer | undefined {
  const { body } = script;
  const plain = script.status === undefined || script.status === 200;
  if (plain && body === undefined && script.redirect === undefined) return undefined;
  const status = script.status ?? (script.redirect === undefined ? 200 : 307);
  if (typeof body === 'string') return { status, type: 'text/plain; charset=utf-8', text: body };
  if (body !== undefined) return { status, type: 'application/json', text: JSON.stringify(body) };
  return status >= 400 ? refusalAnswer(plainRefusal(status)) : { status, type: '', text: '' };
}

function checkCall(turn: Turn): StubHandoff | undefined {
  const { call, fleet } = turn;
  if (call.leg === 'prefill') checkPrefill(call, fleet.log);
  if (call.leg === 'decode') return checkDecode(call, fleet.ledger, fleet.leaseMs, fleet.log);
  if (call.leg === 'single' && !isProbe(call)) checkSingle(call, fleet.log);
  return undefined;
}

function settle(turn: Turn, handoff: StubHandoff | undefined, accepted: boolean): void {
  if (handoff === undefined || handoff.state !== 'open' || !(turn.script.claim ?? accepted)) return;
  handoff.state = isReclaim(turn.call) ? 'released' : 'claimed';
  handoff.claimedBy = turn.call.engine;
}

/** True when the blocks are gone with the process that held them. */
function isLost(turn: Turn, handoff: StubHandoff | undefined): boolean {
  if (handoff === undefined || turn.fleet.deadProducer === 'recompute') return false;
  return turn.fleet.engineId(handoff.iid) !== handoff.engineId;
}

async function sendLost(turn: Turn): Promise<void> {
  if (turn.call.json?.['stream'] !== true) {
    return sendSmall(turn, refusalAnswer({ status: 500, body: { error: { ...INTERNAL_ERROR } } }));
  }
  turn.wire.head(200, streamHead(turn.script));
  return playStream(contextOf(turn), [JSON.stringify({ error: INTERNAL_ERROR })]);
}

async function answerCompletion(turn: Turn): Promise<void> {
  const { call, script, wire, fleet } = turn;
  const unseen = script.resetAfterFrames === 0;
  const scripted = scriptedAnswer(turn);
  let handoff: StubHandoff | undefined;
  if (!unseen) {
    checkRequestId(call, fleet.seenIds, fleet.log);
    handoff = checkCall(turn);
  }
  const refused = refuseKey(call, fleet.facts) ?? refuseCompletion(call, fleet.facts);
  const accepted = !unseen && (scripted === undefined ? refused === undefined : scripted.status < 300);
  settle(turn, handoff, script.hang === true || accepted);
  await wire.sleep((script.delayMs ?? 0) + (call.leg === 'prefill' ? fleet.prefillDelayMs : 0));
  if (unseen) return wire.reset();
  if (script.hang === true) return wire.untilGone();
  if (scripted !== undefined) return sendSmall(turn, scripted);
  if (refused !== undefined) return sendSmall(turn, refusalAnswer(refused));
  if (isLost(turn, handoff)) return sendLost(turn);
  const request: GenerationRequest = {
    route: routeOf(call.path) ?? 'chat',
    requestId: call.requestId || randomBytes(8).toString('hex'),
    body: { model: fleet.facts.model, ...call.json },
    created: Math.floor(Date.now() / 1000),
  };
  const list = generationFor(turn, request);
  return call.json?.['stream'] === true ? sendStream(turn, request, list) : sendWhole(turn, request, list);
}

/** Answers one call: checks it, follows the script, else answers as a vLLM engine of this role would. */
export async function answerCall(turn: Turn): Promise<void> {
  const { call, script, wire, fleet } = turn;
  script.onCall?.(call);
  checkHead(call, fleet.log);
  if (call.method === 'POST' && routeOf(call.path) !== undefined && call.leg !== 'other') {
    return answerCompletion(turn);
  }
  await wire.sleep(script.delayMs ?? 0);
  if (script.resetAfterFrames === 0) return wire.reset();
  if (script.hang === true) return wire.untilGone();
  const refused = refuseKey(call, fleet.facts);
  const own = refused === undefined ? smallAnswer(call, fleet.facts, turn.inFlight) : refusalAnswer(refused);
  return sendSmall(turn, scriptedAnswer(turn) ?? own);
}
