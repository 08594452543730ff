/**
 * Histograms that cost a request next to nothing: plain arrays, shown to prom-client at scrape.
 *
 * prom-client hashes its labels at every observation (about 1 us); here it is one array index.
 */
import { Histogram, type MetricObjectWithValues, type MetricValueWithName } from 'prom-client';

/** Counts of values by bucket. */
export class Distribution {
  readonly bounds: readonly number[];
  /** Counts by bucket; the last one is above every bound. */
  readonly counts: Float64Array;
  sum = 0;

  /** @param bounds upper bounds, rising. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** Counts one value; what is no number, or below zero, is left out. */
  observe(value: number): void {
    if (!(value >= 0)) return;
    let at = 0;
    while (at < this.bounds.length && value > this.bounds[at]!) at++;
    this.counts[at]! += 1;
    this.sum += value;
  }
}

/** A distribution under its labels. */
export interface Labelled {
  readonly labels: Readonly<Record<string, string>>;
  readonly distribution: Distribution;
}

/** How a histogram is called. */
export interface HistogramText {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
}

type Values = MetricObjectWithValues<MetricValueWithName<string>>;

/** A prom-client histogram whose values are distributions. */
export class DistributionHistogram extends Histogram {
  readonly #text: HistogramText;
  readonly #parts: readonly Labelled[];

  constructor(text: HistogramText, parts: readonly Labelled[]) {
    super({ ...text, registers: [] });
    this.#text = text;
    this.#parts = parts;
  }

  override get(): Promise<Values> {
    const { name, help } = this.#text;
    const values = this.#parts.flatMap((part) => valuesOf(name, part));
    // The type that prom-client states for `type` is an enum that it does not export as a value.
    const whole = { name, help, type: 'histogram', aggregator: 'sum', values };
    return Promise.resolve(whole as unknown as Values);
  }

  /** What prom-client 15 asks for first; a host's own version asks for `get()`. */
  getForPromString(): Promise<Values> {
    return this.get();
  }
}

function valuesOf(name: string, { labels, distribution }: Labelled): MetricValueWithName<string>[] {
  const { bounds, counts, sum } = distribution;
  const values: MetricValueWithName<string>[] = [];
  let total = 0;
  for (let at = 0; at < counts.length; at++) {
    total += counts[at]!;
    values.push({
      metricName: `${name}_bucket`,
      labels: { le: bounds[at] ?? '+Inf', ...labels },
      value: total,
    });
  }
  values.push({ metricName: `${name}_sum`, labels, value: sum });
  values.push({ metricName: `${name}_count`, labels, value: total });
  return values;
}
