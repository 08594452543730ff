import { checkKeys } from './check-options';
import type { Generation } from './generation';
import type { StubCall, StubLeg } from './stub-call';

/** An error frame inside a stream that began with status 200. */
export interface ErrorFrame {
  /** How many frames come before it. */
  readonly frames: number;
  /** Value of the frame's `error` member. */
  readonly error: unknown;
  /** The frame also has `"choices": []`. @default false */
  readonly choices?: boolean | undefined;
  /** `[DONE]` follows, as vLLM does. @default false */
  readonly done?: boolean | undefined;
}

/**
 * What a stub engine does instead of answering well. Members may be combined. "Frame" is one SSE event; a
 * non-streamed answer is one frame, of which a cut after n >= 1 leaves the first half.
 */
export interface StubScript {
  /** Only this leg. Without it: every completion call (prefill, decode, single), no health, models, tokenize. */
  readonly leg?: StubLeg | undefined;
  /** Only the next n matching calls. @default all of them; 1 for an element of a list */
  readonly times?: number | undefined;
  /** Called with the call before anything is answered. */
  readonly onCall?: ((call: StubCall) => void) | undefined;
  /** Called in the tick in which a prefill answer with a handoff has been ended. */
  readonly onHandoff?: ((call: StubCall) => void) | undefined;

  /** Answer this status with `body`. Without a body: from 400 on vLLM's envelope, else nothing. 200 alone changes nothing. */
  readonly status?: number | undefined;
  /** Body instead of the generated one: an object is sent as JSON, a string as it is. */
  readonly body?: object | string | undefined;
  /** Added to the answer's head, or in place of what stood there. */
  readonly headers?: Readonly<Record<string, string | string[]>> | undefined;
  /** `Retry-After` value: seconds, or any text. */
  readonly retryAfter?: number | string | undefined;
  /** 307 to this address. */
  readonly redirect?: string | undefined;
  /** Wait before the head, ms. */
  readonly delayMs?: number | undefined;
  /** Accept the call and never answer. */
  readonly hang?: boolean | undefined;
  /** `Connection: close` on the answer. */
  readonly closeAfterAnswer?: boolean | undefined;

  /** What is generated for this call. */
  readonly generation?: Generation | readonly Generation[] | undefined;
  /** JSON texts sent as the frames of the stream, in place of the generation. */
  readonly rawFrames?: readonly string[] | undefined;
  /** The whole response body as it is. */
  readonly rawBytes?: Buffer | undefined;
  /** A stream of about `totalBytes`, as fast as the peer reads. */
  readonly endless?: { readonly bytesPerFrame: number; readonly totalBytes: number } | undefined;

  /** Go silent after n frames, socket open. */
  readonly hangAfterFrames?: number | undefined;
  /** Reset the connection after n frames; 0 = before the head, as if the engine never saw the call. */
  readonly resetAfterFrames?: number | undefined;
  /** End the body properly after n frames. */
  readonly endAfterFrames?: number | undefined;
  /** An error frame in the midst of the stream. */
  readonly errorFrameAfter?: ErrorFrame | undefined;
  /** `[DONE]` after n frames, and nothing after it. */
  readonly earlyDone?: number | undefined;
  /** No `[DONE]`. */
  readonly noDone?: boolean | undefined;
  /** No frame with a finish reason. */
  readonly noFinish?: boolean | undefined;
  /** Write everything but do not end the response. */
  readonly keepOpenAfterDone?: boolean | undefined;

  /** Write the body in pieces of n bytes, each in its own turn of the event loop. */
  readonly cutBytes?: number | undefined;
  /** How often is written: once for each frame, or once for everything. @default 'per-frame' */
  readonly pieces?: 'one-write' | 'per-frame' | undefined;
  /** What ends each line of the stream. @default '\n' */
  readonly lineEnd?: '\n' | '\r\n' | '\r' | undefined;
  /** `data:` without the blank. */
  readonly noSpace?: boolean | undefined;
  /** n comment lines before each frame. */
  readonly comments?: number | undefined;
  /** Wait before each frame, ms. */
  readonly frameDelayMs?: number | undefined;

  /** A prefill answer whose `kv_transfer_params` is null. */
  readonly noHandoff?: boolean | undefined;
  /** The handoff stands in `choices[0]`. */
  readonly handoffInChoice?: boolean | undefined;
  /** JSON text sent as the handoff. */
  readonly handoffText?: string | undefined;
  /**
   * Whether this decode call takes its handoff. @default true for one that the engine accepts, false for one
   * it refuses (4xx, 5xx, redirect) or resets before the head
   */
  readonly claim?: boolean | undefined;
}

/** A script, scripts used one after another, or a function asked at every call (health checks included). */
export type StubScripting =
  | StubScript
  | readonly StubScript[]
  | ((call: StubCall) => StubScript | undefined)
  | undefined;

function isList(scripting: StubScripting): scripting is readonly StubScript[] {
  return Array.isArray(scripting);
}

const COMPLETION_LEGS: readonly StubLeg[] = ['prefill', 'decode', 'single'];

function matches(script: StubScript, call: StubCall): boolean {
  return script.leg === undefined ? COMPLETION_LEGS.includes(call.leg) : script.leg === call.leg;
}

/** Every member of a script. */
const SCRIPT_KEYS = [
  'leg',
  'times',
  'onCall',
  'onHandoff',
  'status',
  'body',
  'headers',
  'retryAfter',
  'redirect',
  'delayMs',
  'hang',
  'closeAfterAnswer',
  'generation',
  'rawFrames',
  'rawBytes',
  'endless',
  'hangAfterFrames',
  'resetAfterFrames',
  'endAfterFrames',
  'errorFrameAfter',
  'earlyDone',
  'noDone',
  'noFinish',
  'keepOpenAfterDone',
  'cutBytes',
  'pieces',
  'lineEnd',
  'noSpace',
  'comments',
  'frameDelayMs',
  'noHandoff',
  'handoffInChoice',
  'handoffText',
  'claim',
] as const satisfies readonly (keyof StubScript)[];

const LEGS: readonly StubLeg[] = ['prefill', 'decode', 'single', 'health', 'models', 'tokenize', 'other'];

function checkScript(script: StubScript): void {
  checkKeys('script', script, SCRIPT_KEYS);
  if (script.leg !== undefined && !LEGS.includes(script.leg)) {
    throw new TypeError(`script: leg must be one of ${LEGS.join(', ')}`);
  }
}

/** Turns scripting into a question that can be asked at every call; it counts the uses. */
export function scriptReader(scripting: StubScripting): (call: StubCall) => StubScript | undefined {
  if (scripting === undefined) return () => undefined;
  if (typeof scripting === 'function') {
    return (call) => {
      const script = scripting(call);
      return script?.leg === undefined || script.leg === call.leg ? script : undefined;
    };
  }
  const list = isList(scripting) ? scripting : [scripting];
  for (const script of list) checkScript(script);
  const left = list.map((script) => script.times ?? (isList(scripting) ? 1 : Number.POSITIVE_INFINITY));
  return (call) => {
    const at = list.findIndex((script, index) => left[index]! > 0 && matches(script, call));
    if (at < 0) return undefined;
    left[at]! -= 1;
    return list[at];
  };
}
