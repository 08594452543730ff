/** The engine's token counts, noted for the journal. */
import type { BodyValue } from '../request/parsed-body';
import type { ServingRecord } from './record';

/** Whether the client asked for the usage frame of a stream. */
export function wantsUsage(value: BodyValue): boolean {
  const options = value['stream_options'];
  return (
    typeof options === 'object' &&
    options !== null &&
    (options as { include_usage?: unknown }).include_usage === true
  );
}

/** Takes the counts of one usage object over into the record. */
export function noteUsage(record: ServingRecord, usage: object): void {
  const { prompt_tokens: prompt, completion_tokens: completion } = usage as Record<string, unknown>;
  if (typeof prompt === 'number') record.inputLen = prompt;
  if (typeof completion === 'number') record.outputLen = completion;
}

/**
 * Sums usage objects: numbers are added, also in nested details; other values stay those of the first.
 *
 * @returns null for an empty list.
 */
export function sumUsage(usages: readonly object[]): Record<string, unknown> | null {
  if (usages.length === 0) return null;
  const sum: Record<string, unknown> = {};
  for (const usage of usages) {
    for (const [name, value] of Object.entries(usage)) {
      const before = sum[name];
      if (typeof value === 'number' && typeof before === 'number') sum[name] = before + value;
      else if (isObject(value)) sum[name] = sumUsage(isObject(before) ? [before, value] : [value]);
      else if (before === undefined || before === null) sum[name] = value;
    }
  }
  return sum;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
