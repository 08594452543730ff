import { jsonHead, streamHead } from './answer-head';
import { defaultGeneration } from './default-generation';
import { cutTo, type Generation } from './generation';
import { answerId, effectiveLimit, type GenerationRequest, promptsOf } from './generation-request';
import { handoffText, withHandoff } from './handoff-text';
import { playEndless, playStream, playWhole } from './play';
import { isJsonObject } from './raw-json';
import { bodyMembers } from './stub-call';
import { toJson } from './to-json';
import { toStream } from './to-stream';
import { contextOf, type Turn } from './turn';

/** What is generated for a call: the script's, the fleet's, or the default; a prefill leg cuts it short. */
export function generationFor(turn: Turn, request: GenerationRequest): readonly Generation[] {
  const { call, script, fleet } = turn;
  const own = script.generation ?? fleet.generate?.(call);
  if (own === undefined) return defaultGeneration(request);
  const list = 'length' in own ? own : [own];
  const limit = effectiveLimit(request.route, request.body);
  return call.leg === 'prefill' && limit !== undefined
    ? list.map((generation) => cutTo(generation, limit))
    : list;
}

/** The answer of a prefill engine, and the handoff in it. */
function prefillAnswer(
  turn: Turn,
  request: GenerationRequest,
  generations: readonly Generation[],
): { text: string; handoff: string | null } {
  const { call, script } = turn;
  const answer = toJson(generations, request);
  const transfer = call.json?.['kv_transfer_params'];
  const asked = call.leg === 'prefill' && isJsonObject(transfer) && transfer['do_remote_decode'] === true;
  if (!asked || script.noHandoff === true) return { text: JSON.stringify(answer), handoff: null };
  const id = `${answerId(request)}${request.route === 'chat' ? '' : '-0'}`;
  const tokens = promptsOf(request.body).reduce((sum, prompt) => sum + prompt.tokenIds.length, 0);
  const handoff = script.handoffText ?? handoffText(turn.engineId, id, tokens);
  return { text: withHandoff(answer, handoff, script.handoffInChoice === true), handoff };
}

function produce(turn: Turn, handoff: string): void {
  const { call, fleet } = turn;
  call.handoff = handoff;
  if (handoff === 'null') return;
  const { engine: iid, requestId, path } = call;
  fleet.ledger.add({
    text: handoff,
    iid,
    engineId: turn.engineId,
    requestId,
    path,
    members: bodyMembers(call),
  });
}

/** Answers in one JSON body; a prefill leg gets its handoff, which enters the ledger as the answer ends. */
export async function sendWhole(
  turn: Turn,
  request: GenerationRequest,
  list: readonly Generation[],
): Promise<void> {
  const { text, handoff } = prefillAnswer(turn, request, list);
  await playWhole(
    contextOf(turn),
    turn.script.rawBytes ?? Buffer.from(text),
    (length) => turn.wire.head(200, jsonHead(turn.script, length)),
    () => {
      if (handoff === null) return;
      produce(turn, handoff);
      turn.script.onHandoff?.(turn.call);
    },
  );
}

/** Answers as a stream, or as what the script wants in its place. */
export async function sendStream(
  turn: Turn,
  request: GenerationRequest,
  list: readonly Generation[],
): Promise<void> {
  const { wire, script } = turn;
  wire.head(200, streamHead(script));
  if (script.rawBytes !== undefined) {
    await wire.write(script.rawBytes);
    return wire.end();
  }
  if (script.endless !== undefined) {
    const frameWith = (text: string): string =>
      toStream({ content: [text] }, request).find((frame) => frame.includes(text)) ?? '';
    const tail = toStream({ content: [] }, request).slice(request.route === 'chat' ? 1 : 0);
    return playEndless(contextOf(turn), script.endless, frameWith, tail);
  }
  return playStream(contextOf(turn), toStream(list, request));
}
