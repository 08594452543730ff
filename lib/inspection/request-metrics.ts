/** What a request that is over adds to the series: counted once, where its row is written. */
import type { Counter } from 'prom-client';
import type { FleetConfig } from '../config/fleet-config';
import type { RequestContext } from '../context';
import type { JournalRow } from '../journal/row';
import type { RequestObserver } from '../middlewares/journal-record';
import { BUCKETS } from './buckets';
import { collectedCounter, type Sample, textOf } from './collected';
import { Distribution, DistributionHistogram, type Labelled } from './distribution';
import { RequestCounts, TERMINALS } from './request-counts';
import { overheadMs } from './router-overhead';
import type { SeriesName } from './series';

/** Terminals of requests that the fleet was to serve: what an slo, and the overhead, is told of. */
const SERVED: ReadonlySet<string> = new Set(['completed', 'failed', 'expired']);

/** Distributions by the value of one label. */
class ByLabel {
  readonly parts: readonly Labelled[];
  readonly #byValue = new Map<string, Distribution>();

  constructor(label: string, values: readonly string[], bounds: readonly number[]) {
    this.parts = values.map((value) => {
      const distribution = new Distribution(bounds);
      this.#byValue.set(value, distribution);
      return { labels: { [label]: value }, distribution };
    });
  }

  observe(value: string, seconds: number): void {
    this.#byValue.get(value)?.observe(seconds);
  }
}

/** The series of requests. */
export class RequestMetrics implements RequestObserver {
  readonly #requests = new RequestCounts();
  readonly #tokens = { input: 0, output: 0 };
  readonly #shadow = { prompt: 0, queue: 0 };
  readonly #slo: FleetConfig['slo'];
  readonly #measured = { ttft: 0, tpot: 0 };
  readonly #met = { ttft: 0, tpot: 0 };
  readonly #queueWait = new Distribution(BUCKETS.wait);
  readonly #firstByte = new Distribution(BUCKETS.firstByte);
  readonly #tokenInterval = new Distribution(BUCKETS.perToken);
  readonly #overhead = new Distribution(BUCKETS.overhead);
  readonly #duration = new ByLabel('terminal', TERMINALS, BUCKETS.duration);
  readonly #prefill: ByLabel;
  readonly #handoff: ByLabel;

  constructor({ engines, slo }: FleetConfig) {
    const named = (role: string) => engines.filter((engine) => engine.role === role).map(({ iid }) => iid);
    this.#slo = slo;
    this.#prefill = new ByLabel('iid', named('prefill'), BUCKETS.leg);
    this.#handoff = new ByLabel('iid', named('decode'), BUCKETS.leg);
  }

  ended(context: RequestContext, row: JournalRow): void {
    const { record } = context;
    this.#requests.count(row);
    this.#duration.observe(row.terminal, row.duration_s);
    if (row.queue_wait_s !== null) this.#queueWait.observe(row.queue_wait_s);
    if (row.shadow !== null) this.#shadow[row.shadow]++;
    if (record.legs.length === 0) return;
    this.#tokens.input += row.input_len ?? 0;
    this.#tokens.output += row.output_len ?? 0;
    for (const { leg, iid, startedAt, endedAt, failed } of record.legs) {
      if (leg === 'prefill' && endedAt !== null && !failed) {
        this.#prefill.observe(iid, (endedAt - startedAt) / 1000);
      }
    }
    // The parts of a list each have a handoff of their own, and the row has the times of two of them.
    if (row.parts === null && row.first_byte_s !== null && row.ttft_s !== null && row.decode_iid !== null) {
      this.#handoff.observe(row.decode_iid, row.first_byte_s - row.ttft_s);
    }
    if (SERVED.has(row.terminal)) this.#served(context, row);
  }

  #served(context: RequestContext, row: JournalRow): void {
    const overhead = overheadMs(context);
    if (overhead !== null) this.#overhead.observe(overhead / 1000);
    const completed = row.terminal === 'completed';
    if (completed && row.first_byte_s !== null) this.#firstByte.observe(row.first_byte_s);
    if (completed && row.tpot_s !== null) this.#tokenInterval.observe(row.tpot_s);
    if (this.#slo === null) return;
    const { ttftS, tpotS } = this.#slo;
    if (ttftS !== null) {
      this.#measured.ttft++;
      if (completed && row.first_byte_s !== null && row.first_byte_s <= ttftS) this.#met.ttft++;
    }
    if (tpotS !== null && completed && row.tpot_s !== null) {
      this.#measured.tpot++;
      if (row.tpot_s <= tpotS) this.#met.tpot++;
    }
  }

  /** The series, for a registry. */
  series(): (Counter | DistributionHistogram)[] {
    const one = (distribution: Distribution): readonly Labelled[] => [{ labels: {}, distribution }];
    return [
      collectedCounter('narwhal_requests_total', () => this.#requests.samples()),
      histogram('narwhal_request_duration_seconds', this.#duration.parts),
      histogram('narwhal_queue_wait_seconds', one(this.#queueWait)),
      histogram('narwhal_prefill_seconds', this.#prefill.parts),
      histogram('narwhal_handoff_to_first_token_seconds', this.#handoff.parts),
      histogram('narwhal_first_byte_seconds', one(this.#firstByte)),
      histogram('narwhal_token_interval_seconds', one(this.#tokenInterval)),
      histogram('narwhal_router_overhead_seconds', one(this.#overhead)),
      collectedCounter('narwhal_tokens_total', () => samplesOf('type', this.#tokens)),
      collectedCounter('narwhal_shadow_refusals_total', () => samplesOf('reason', this.#shadow)),
      collectedCounter('narwhal_slo_measured_total', () => this.#targets(this.#measured)),
      collectedCounter('narwhal_slo_met_total', () => this.#targets(this.#met)),
    ];
  }

  /** Only targets that the fleet file sets have a series. */
  #targets({ ttft, tpot }: { readonly ttft: number; readonly tpot: number }): Sample[] {
    const ttftS = this.#slo?.ttftS ?? null;
    const tpotS = this.#slo?.tpotS ?? null;
    return samplesOf('target', { ...(ttftS !== null && { ttft }), ...(tpotS !== null && { tpot }) });
  }
}

function histogram(name: SeriesName, parts: readonly Labelled[]): DistributionHistogram {
  return new DistributionHistogram(textOf(name), parts);
}

/** One sample for each member of an object, under its name. */
export function samplesOf(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}
