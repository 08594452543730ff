/** Counters and gauges that are read when they are scraped: nothing is kept twice. */
import { Counter, Gauge } from 'prom-client';
import { SERIES, type SeriesName } from './series';

/** One value under its labels. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A counter that takes its values from `read` at each scrape. */
export function collectedCounter(name: SeriesName, read: () => readonly Sample[]): Counter {
  return new Counter({
    ...textOf(name),
    registers: [],
    collect() {
      this.reset();
      // A sink of the host counts its own lost rows: what is no count must not fail the scrape.
      for (const { labels, value } of read()) if (value >= 0) this.inc(labels, value);
    },
  });
}

/** A gauge that takes its values from `read` at each scrape. */
export function collectedGauge(name: SeriesName, read: () => readonly Sample[]): Gauge {
  return new Gauge({
    ...textOf(name),
    registers: [],
    collect() {
      this.reset();
      for (const { labels, value } of read()) this.set(labels, value);
    },
  });
}

/** Name, help and label names of a series, as prom-client wants them. */
export function textOf(name: SeriesName): { name: string; help: string; labelNames: string[] } {
  const { help, labels } = SERIES[name];
  return { name, help, labelNames: [...labels] };
}

/** The value of a series without labels. */
export function plain(value: number): readonly Sample[] {
  return [{ labels: {}, value }];
}
