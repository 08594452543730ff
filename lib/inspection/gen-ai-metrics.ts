/** The three histograms of a GenAI server, into the host's meter. */
import type { Attributes, Histogram, Meter } from '@opentelemetry/api';
import type { JournalRow } from '../journal/row';
import { GEN_AI_BUCKETS } from './buckets';

interface Instruments {
  readonly duration: Histogram;
  readonly firstToken: Histogram;
  readonly perToken: Histogram;
}

/** Records requests that are over. */
export class GenAiMetrics {
  readonly #meter: () => Meter | null;
  #of: Meter | null = null;
  #instruments: Instruments | null = null;

  constructor(meter: () => Meter | null) {
    this.#meter = meter;
  }

  /** @param common attributes that every measurement of the request has. */
  record(row: JournalRow, common: Attributes): void {
    const instruments = this.#current();
    if (instruments === null) return;
    const attributes = row.reason === null ? common : { ...common, 'error.type': row.reason };
    instruments.duration.record(row.duration_s, attributes);
    if (row.terminal !== 'completed') return;
    if (row.first_byte_s !== null) instruments.firstToken.record(row.first_byte_s, attributes);
    if (row.tpot_s !== null) instruments.perToken.record(row.tpot_s, attributes);
  }

  #current(): Instruments | null {
    const meter = this.#meter();
    if (meter !== this.#of) {
      this.#of = meter;
      this.#instruments = meter === null ? null : open(meter);
    }
    return this.#instruments;
  }
}

function open(meter: Meter): Instruments {
  const histogram = (name: string, description: string, bounds: number[]): Histogram =>
    meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries: bounds } });
  return {
    duration: histogram(
      'gen_ai.server.request.duration',
      'Arrival of a request to the end of its response',
      GEN_AI_BUCKETS.duration,
    ),
    firstToken: histogram(
      'gen_ai.server.time_to_first_token',
      'Arrival to the first output, of completed requests',
      GEN_AI_BUCKETS.firstToken,
    ),
    perToken: histogram(
      'gen_ai.server.time_per_output_token',
      'Mean time for each output token after the first, of completed requests',
      GEN_AI_BUCKETS.perToken,
    ),
  };
}
