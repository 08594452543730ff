import type { StubScript } from './stub-script';

const DONE = '[DONE]';

function isFinish(frame: string): boolean {
  return /"finish_reason":\s*"/.test(frame);
}

/** The payloads of a stream in order, `[DONE]` included, as the script wants them. */
export function payloadsOf(frames: readonly string[], script: StubScript): string[] {
  let list = [...(script.rawFrames ?? frames)];
  if (script.noFinish === true) list = list.filter((frame) => !isFinish(frame));
  const fault = script.errorFrameAfter;
  if (fault !== undefined) {
    const frame = { error: fault.error, ...(fault.choices === true && { choices: [] }) };
    return [...list.slice(0, fault.frames), JSON.stringify(frame), ...(fault.done === true ? [DONE] : [])];
  }
  if (script.earlyDone !== undefined) return [...list.slice(0, script.earlyDone), DONE];
  if (script.endAfterFrames !== undefined) return list.slice(0, script.endAfterFrames);
  return script.noDone === true ? list : [...list, DONE];
}

/** The bytes of one event with its blank line. vLLM writes `data: <json>\n\n`; the script may differ. */
export function eventBytes(payload: string, script: StubScript): Buffer {
  const end = script.lineEnd ?? '\n';
  const comments = Array.from({ length: script.comments ?? 0 }, (_, at) => `: note ${at}${end}${end}`);
  const field = script.noSpace === true ? 'data:' : 'data: ';
  return Buffer.from(`${comments.join('')}${field}${payload}${end}${end}`);
}
