/** OpenTelemetry: an internal span for each request, a client span for each leg, the GenAI histograms. */
import type { IncomingMessage } from 'node:http';
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import type { RequestContext } from '../context';
import type { JournalRow } from '../journal/row';
import type { RequestObserver } from '../middlewares/journal-record';
import { commonAttributes, endAttributes, operationOf, type Subject } from './gen-ai';
import { GenAiMetrics } from './gen-ai-metrics';
import { LegSpans } from './leg-spans';
import { type OtelApi, Providers } from './otel';
import type { Guard } from './safe-observer';

/** What telemetry knows of a request that runs. */
interface Running {
  readonly span: Span;
  /** Wall clock, ms: the end of the response counts from here. */
  readonly startedAt: number;
}

/** Watches requests for the host's OpenTelemetry. With nothing registered, a request costs two look-ups. */
export class Telemetry implements RequestObserver {
  readonly #providers: Providers;
  readonly #subject: Subject;
  readonly #guard: Guard;
  readonly #metrics: GenAiMetrics;
  /** Where what is known of a request stands on its context. See `context` for why no map. */
  readonly #key = Symbol('express-narwhal telemetry');

  constructor(api: OtelApi, subject: Subject, guard: Guard) {
    this.#providers = new Providers(api);
    this.#subject = subject;
    this.#guard = guard;
    this.#metrics = new GenAiMetrics(() => this.#providers.meter());
  }

  arrived(context: RequestContext, req: IncomingMessage): void {
    const tracer = this.#providers.tracer();
    if (tracer !== null) this.#start(tracer, context, req);
  }

  ended(context: RequestContext, row: JournalRow): void {
    const operation = operationOf(row.route);
    this.#metrics.record(row, this.#common(operation));
    const running = (context as unknown as Record<symbol, Running | undefined>)[this.#key];
    if (running === undefined) return;
    const { span, startedAt } = running;
    span.setAttributes(endAttributes(context, row));
    if (row.status >= 500) span.setStatus({ code: this.#providers.api.SpanStatusCode.ERROR });
    // The row waits for reclaim legs; the request was over before.
    span.end(startedAt + row.duration_s * 1000);
  }

  #start(tracer: Tracer, context: RequestContext, req: IncomingMessage): void {
    const { api } = this.#providers;
    const operation = operationOf(context.route);
    const startTime = context.at;
    const kind = api.SpanKind.INTERNAL;
    const attributes = { ...this.#common(operation) };
    const name = `${operation} ${this.#subject.model}`;
    const above = this.#contextAbove(req);
    const span = tracer.startSpan(name, { kind, attributes, startTime }, above);
    (context as unknown as Record<symbol, Running>)[this.#key] = { span, startedAt: startTime };
    const legs = new LegSpans({
      api,
      tracer,
      guard: this.#guard,
      parent: api.trace.setSpan(above, span),
      subject: this.#subject,
      operation,
    });
    context.record.follow = (start) => this.#guard.run(() => legs.follow(start), null);
  }

  /** The host's own span, where its HTTP instrumentation has made one; else what the caller sent. */
  #contextAbove({ headers }: IncomingMessage): Context {
    const { context, trace, propagation } = this.#providers.api;
    const active = context.active();
    return trace.getSpan(active) === undefined ? propagation.extract(active, headers) : active;
  }

  /** One object for each operation: built once. */
  #common(operation: string): Attributes {
    let common = this.#commons.get(operation);
    if (common === undefined) {
      common = commonAttributes(this.#subject, operation);
      this.#commons.set(operation, common);
    }
    return common;
  }

  readonly #commons = new Map<string, Attributes>();
}
