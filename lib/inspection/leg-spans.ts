/** A client span for each call to an engine. */
import type { Attributes, Context, Link, Span, SpanContext, Tracer } from '@opentelemetry/api';
import { EngineFault } from '../engines/fault';
import { ClientGoneError, isNarwhalError } from '../errors';
import type { LegFollower, LegStart } from '../serving/leg-watch';
import { commonAttributes, type Subject } from './gen-ai';
import type { OtelApi } from './otel';
import type { Guard } from './safe-observer';

/**
 * Key under which the SDKs look whether a context wants no spans. While a call is sent it is set: the host's
 * own instrumentation of `net` would hang the opening of a connection on this request, which others use after it.
 */
const SUPPRESS = 'OpenTelemetry SDK Context Key SUPPRESS_TRACING';

/** What the spans of one request's legs hang on. */
export interface LegSpansParts {
  readonly api: OtelApi;
  readonly tracer: Tracer;
  readonly guard: Guard;
  /** Holds the request's span. */
  readonly parent: Context;
  readonly subject: Subject;
  readonly operation: string;
}

/** The spans of one request's legs. */
export class LegSpans {
  readonly #parts: LegSpansParts;
  readonly #quiet: Context;
  /** The leg that failed last: the next attempt's legs are linked to it. */
  #failed: { readonly attempt: number; readonly context: SpanContext } | null = null;

  constructor(parts: LegSpansParts) {
    this.#parts = parts;
    const { api, parent } = parts;
    this.#quiet = parent.setValue(api.createContextKey(SUPPRESS), true);
  }

  follow(start: LegStart): LegFollower {
    const { api, guard } = this.#parts;
    const span = this.#open(start);
    return {
      trace: traceHeaders(span.spanContext()),
      send: (call) => api.context.with(this.#quiet, call),
      ended: (error) => guard.run(() => this.#end(span, start, error), undefined),
    };
  }

  #open({ leg, iid, origin, attempt, backendId }: LegStart): Span {
    const { api, tracer, parent, subject, operation } = this.#parts;
    const { hostname, port, protocol } = new URL(origin);
    const attributes: Attributes = {
      ...commonAttributes(subject, operation),
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
      'narwhal.leg': leg,
      'narwhal.engine': iid,
      'narwhal.attempt': attempt,
      'narwhal.backend.id': backendId,
    };
    const kind = api.SpanKind.CLIENT;
    return tracer.startSpan(
      `${leg} ${subject.model}`,
      { kind, attributes, links: this.#links(attempt) },
      parent,
    );
  }

  #links(attempt: number): Link[] {
    const failed = this.#failed;
    if (failed === null || failed.attempt >= attempt) return [];
    return [{ context: failed.context, attributes: { 'narwhal.attempt': failed.attempt } }];
  }

  #end(span: Span, { leg, attempt }: LegStart, error: Error | null): void {
    if (error !== null) {
      if (leg !== 'reclaim') this.#failed = { attempt, context: span.spanContext() };
      span.setAttribute('error.type', reasonOf(error));
      if (error instanceof EngineFault && error.status !== null) {
        span.setAttribute('http.response.status_code', error.status);
      }
      if (!(error instanceof ClientGoneError)) span.setStatus({ code: this.#parts.api.SpanStatusCode.ERROR });
    }
    span.end();
  }
}

/** The reason word; an engine's own text could repeat what the client wrote. */
function reasonOf(error: Error): string {
  if (error instanceof EngineFault) return error.toClient().reason;
  if (error instanceof ClientGoneError) return 'client_closed';
  return isNarwhalError(error) ? error.reason : 'engine_error';
}

/** The W3C headers, whatever propagator the host has: engines get these two and no other. */
function traceHeaders({ traceId, spanId, traceFlags, traceState }: SpanContext): Record<string, string> {
  const flags = traceFlags.toString(16).padStart(2, '0');
  const headers: Record<string, string> = { traceparent: `00-${traceId}-${spanId}-${flags}` };
  const state = traceState?.serialize();
  if (state !== undefined && state !== '') headers['tracestate'] = state;
  return headers;
}
