import { eventBytes, payloadsOf } from './sse-bytes';
import type { StubCall } from './stub-call';
import type { StubScript } from './stub-script';
import type { Wire } from './wire';

/** How and when an answer is written. */
export interface PlayContext {
  readonly wire: Wire;
  readonly call: StubCall;
  readonly script: StubScript;
  /** Wait before each frame, ms. */
  readonly frameDelayMs: number;
}

/** A cut after this many frames, and whether it resets the connection or goes silent. */
function cutOf(script: StubScript): { frames: number; reset: boolean } | undefined {
  if (script.resetAfterFrames !== undefined) return { frames: script.resetAfterFrames, reset: true };
  if (script.hangAfterFrames !== undefined) return { frames: script.hangAfterFrames, reset: false };
  return undefined;
}

async function writeCut({ wire, script }: PlayContext, bytes: Buffer): Promise<void> {
  const size = script.cutBytes;
  if (size === undefined) return wire.write(bytes);
  for (let at = 0; at < bytes.length && !wire.gone; at += size) {
    await wire.write(bytes.subarray(at, at + size));
    await wire.turn();
  }
}

async function afterCut({ wire }: PlayContext, reset: boolean): Promise<void> {
  if (reset) {
    // A reset may overtake bytes that are still on their way to the reader.
    await wire.sleep(10);
    wire.reset();
  }
  await wire.untilGone();
}

/**
 * Writes a stream. The head must have been set.
 *
 * @param frames JSON texts of a good stream; the script decides what becomes of them
 */
export async function playStream(context: PlayContext, frames: readonly string[]): Promise<void> {
  const { wire, call, script } = context;
  const cut = cutOf(script);
  const payloads = payloadsOf(frames, script).slice(0, cut?.frames);
  wire.flushHead();
  if (script.pieces === 'one-write') {
    await wire.sleep(context.frameDelayMs);
    await writeCut(context, Buffer.concat(payloads.map((payload) => eventBytes(payload, script))));
    if (!wire.gone) call.framesSent = payloads.length;
  } else {
    for (const payload of payloads) {
      await wire.sleep(context.frameDelayMs);
      if (wire.gone) return;
      await writeCut(context, eventBytes(payload, script));
      if (!wire.gone) call.framesSent += 1;
      await wire.turn();
    }
  }
  if (cut !== undefined) return afterCut(context, cut.reset);
  if (script.keepOpenAfterDone === true) return wire.untilGone();
  wire.end();
}

/**
 * Writes an answer that is one piece, with its length unless the script cuts it.
 *
 * @param setHead sets the status and headers; given the length, or null for a body that ends with the answer
 * @param onEnded called in the tick in which the answer was ended
 */
export async function playWhole(
  context: PlayContext,
  body: Buffer,
  setHead: (length: number | null) => void,
  onEnded?: () => void,
): Promise<void> {
  const { wire, call, script } = context;
  const cut = cutOf(script);
  const endEarly = script.endAfterFrames !== undefined;
  if (wire.gone) return;
  if (cut !== undefined || endEarly) {
    setHead(null);
    wire.flushHead();
    if ((cut?.frames ?? script.endAfterFrames ?? 0) > 0) {
      await writeCut(context, body.subarray(0, Math.floor(body.length / 2)));
    }
    if (cut !== undefined) return afterCut(context, cut.reset);
    return wire.end();
  }
  setHead(script.keepOpenAfterDone === true ? null : body.length);
  if (script.cutBytes !== undefined) await writeCut(context, body);
  if (wire.gone) return;
  call.framesSent = 1;
  if (script.keepOpenAfterDone === true) {
    if (script.cutBytes === undefined) await wire.write(body);
    return wire.untilGone();
  }
  wire.end(script.cutBytes === undefined ? body : undefined);
  onEnded?.();
}

/**
 * Streams about `totalBytes` as fast as the peer reads. Each frame is the template with a long text in place of
 * its own, so that a reader finds well-formed chunks.
 *
 * @param frameWith gives the JSON text of a frame with this text
 */
export async function playEndless(
  { wire, call }: PlayContext,
  size: { readonly bytesPerFrame: number; readonly totalBytes: number },
  frameWith: (text: string) => string,
  tail: readonly string[],
): Promise<void> {
  const frame = eventBytes(frameWith('x'.repeat(size.bytesPerFrame)), {});
  wire.flushHead();
  while (!wire.gone && call.bytesWritten < size.totalBytes) {
    await wire.write(frame);
    call.framesSent += 1;
    // Full speed, but the rest of the process must get its turns.
    if (call.framesSent % 16 === 0) await wire.turn();
  }
  for (const payload of [...tail, '[DONE]']) await wire.write(eventBytes(payload, {}));
  wire.end();
}
