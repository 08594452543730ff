/** Spans, trace headers and GenAI histograms of a gateway whose host has OpenTelemetry set up. */
import { Socket } from 'node:net';
import {
  context,
  metrics,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { narwhalRouter } from '../../lib/index';
import { GEN_AI_BUCKETS } from '../../lib/inspection/buckets';
import { loadOtel } from '../../lib/inspection/otel';
import { ParsedBody } from '../../lib/request/parsed-body';
import { thrownBy } from '../helpers/alone';
import { CHAT, CHAT_BODY, COMPLETION_BODY, COMPLETIONS, call } from '../helpers/call';
import { closeLater } from '../helpers/close-all';
import { type Gateway, type GatewayOptions, startGateway } from '../helpers/create-app';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;
const CANARY = 'canary-words-7c1d';

/** Sets tracing up as a host does; undone after the test. */
function setUpTracing(...more: SpanProcessor[]): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({
    spanProcessors: [...more, new SimpleSpanProcessor(exporter)],
  });
  provider.register();
  closeLater({
    async close() {
      trace.disable();
      context.disable();
      propagation.disable();
      await provider.shutdown();
    },
  });
  return exporter;
}

async function finished(exporter: InMemorySpanExporter, gateway: Gateway): Promise<ReadableSpan[]> {
  await gateway.allRows();
  return exporter.getFinishedSpans();
}

function named(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const found = spans.filter((span) => span.name === name);
  expect([name, found.length]).toEqual([name, 1]);
  return found[0]!;
}

const FAST: GatewayOptions['fleetFile'] = { serving: { retry_base_s: 0.001, retry_cap_s: 0.001 } };

describe('tracing', () => {
  it('says of a long prompt what it says of a short one, without parsing it', async () => {
    const value = jest.spyOn(ParsedBody.prototype, 'value', 'get');
    const exporter = setUpTracing();
    const gateway = await startGateway();
    const messages = [{ role: 'user', content: 'x'.repeat(100_000) }];
    await call(gateway.url + CHAT, { body: { ...CHAT_BODY, messages, max_tokens: 4 } });
    const whole = named(await finished(exporter, gateway), 'chat example/model');
    expect(whole.attributes).toMatchObject({ 'gen_ai.request.max_tokens': 4 });
    expect(value).not.toHaveBeenCalled();
    value.mockRestore();
  });

  it('makes one internal span for a request and a client span for each leg, below the caller', async () => {
    const exporter = setUpTracing();
    const gateway = await startGateway();
    const headers = { traceparent: TRACEPARENT, tracestate: 'a=1' };
    await call(gateway.url + CHAT, { body: { ...CHAT_BODY, max_tokens: 4 }, headers });
    const spans = await finished(exporter, gateway);
    expect(spans).toHaveLength(3);
    const whole = named(spans, 'chat example/model');
    const prefill = named(spans, 'prefill example/model');
    const decode = named(spans, 'decode example/model');
    expect(whole.kind).toBe(SpanKind.INTERNAL);
    expect(whole.parentSpanContext).toMatchObject({ traceId: TRACE, spanId: PARENT });
    const [row] = gateway.journal.rows;
    expect(whole.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'vllm',
      'gen_ai.request.model': 'example/model',
      'gen_ai.request.max_tokens': 4,
      'gen_ai.request.stream': false,
      'gen_ai.usage.input_tokens': row?.input_len,
      'gen_ai.usage.output_tokens': row?.output_len,
      'gen_ai.response.finish_reasons': [row?.finish_reason],
      'narwhal.request.id': row?.rid,
      'narwhal.terminal': 'completed',
    });
    expect(whole.status.code).toBe(SpanStatusCode.UNSET);
    for (const [leg, iid] of [
      [prefill, 'p0'],
      [decode, 'd0'],
    ] as const) {
      expect(leg.kind).toBe(SpanKind.CLIENT);
      expect(leg.parentSpanContext?.spanId).toBe(whole.spanContext().spanId);
      expect(leg.links).toEqual([]);
      expect(leg.attributes).toMatchObject({
        'narwhal.engine': iid,
        'narwhal.attempt': 1,
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(gateway.fleet.engine(iid).url).port),
      });
    }
    const sent = gateway.fleet.calls.map(({ headers: { traceparent, tracestate } }) => [
      traceparent,
      tracestate,
    ]);
    expect(sent).toEqual(
      [prefill, decode].map((leg) => [`00-${TRACE}-${leg.spanContext().spanId}-01`, 'a=1']),
    );
  });

  it('hangs below the span that the host has open, and names the other route', async () => {
    const exporter = setUpTracing();
    const tracer = trace.getTracer('host');
    const gateway = await startGateway({
      before: [
        (_req, res, next) => {
          const span = tracer.startSpan('host');
          res.once('close', () => span.end());
          context.with(trace.setSpan(context.active(), span), next);
        },
      ],
    });
    await call(gateway.url + COMPLETIONS, { body: COMPLETION_BODY, headers: { traceparent: TRACEPARENT } });
    const spans = await finished(exporter, gateway);
    const whole = named(spans, 'text_completion example/model');
    expect(whole.parentSpanContext?.spanId).toBe(named(spans, 'host').spanContext().spanId);
  });

  it('links the legs of a retry to the leg that failed', async () => {
    const exporter = setUpTracing();
    const gateway = await startGateway({
      fleetFile: FAST!,
      stub: { decode: 2, script: [{ leg: 'decode', status: 500 }] },
    });
    expect((await call(gateway.url + CHAT, { body: CHAT_BODY })).status).toBe(200);
    const spans = await finished(exporter, gateway);
    const legs = spans.filter(({ kind, name }) => kind === SpanKind.CLIENT && !name.startsWith('reclaim'));
    expect(legs.map(({ attributes }) => [attributes['narwhal.leg'], attributes['narwhal.attempt']])).toEqual([
      ['prefill', 1],
      ['decode', 1],
      ['prefill', 2],
      ['decode', 2],
    ]);
    const failed = legs[1]!;
    expect(failed.status.code).toBe(SpanStatusCode.ERROR);
    expect(failed.attributes).toMatchObject({
      'error.type': 'engine_error',
      'http.response.status_code': 500,
    });
    for (const later of legs.slice(2)) {
      expect(later.links.map((link) => link.context.spanId)).toEqual([failed.spanContext().spanId]);
    }
    expect(named(spans, 'chat example/model').attributes).toMatchObject({
      'narwhal.attempts': 2,
      'narwhal.terminal': 'completed',
    });
    // The refused handoff is reclaimed, under a span of its own.
    expect(named(spans, 'reclaim example/model').links).toEqual([]);
  });

  it('tells of a failure by its reason, and of a refusal without a fault of ours', async () => {
    const exporter = setUpTracing();
    const gateway = await startGateway({
      fleetFile: { serving: { max_attempts: 1 } },
      stub: { script: { leg: 'prefill', status: 500 } },
    });
    await call(gateway.url + CHAT, { body: CHAT_BODY });
    await call(gateway.url + COMPLETIONS, { body: { ...COMPLETION_BODY, model: CANARY } });
    const spans = await finished(exporter, gateway);
    const failed = named(spans, 'chat example/model');
    expect(failed.status.code).toBe(SpanStatusCode.ERROR);
    expect(failed.attributes).toMatchObject({ 'error.type': 'engine_error', 'narwhal.terminal': 'failed' });
    const refused = named(spans, 'text_completion example/model');
    expect(refused.status.code).toBe(SpanStatusCode.UNSET);
    expect(refused.attributes).toMatchObject({ 'error.type': 'model', 'http.response.status_code': 404 });
  });

  it('ends the spans of a client that leaves in the middle', async () => {
    const exporter = setUpTracing();
    let reached: () => void = () => undefined;
    const atDecode = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const gateway = await startGateway({
      stub: { script: { leg: 'decode', hang: true, onCall: () => reached() } },
    });
    const controller = new AbortController();
    const held = call(gateway.url + CHAT, { body: CHAT_BODY, signal: controller.signal }).catch(() => null);
    await atDecode;
    controller.abort();
    await held;
    await gateway.journal.firstRow();
    const spans = await finished(exporter, gateway);
    expect(named(spans, 'chat example/model').attributes).toMatchObject({
      'error.type': 'client_closed',
      'narwhal.cancelled_phase': 'decode',
    });
    expect(named(spans, 'decode example/model').attributes['error.type']).toBe('client_closed');
  });

  it('has no text of a prompt, an answer or a key in any span', async () => {
    const exporter = setUpTracing();
    const gateway = await startGateway({ fleetFile: { serving: { max_attempts: 1 } } });
    const body = {
      ...CHAT_BODY,
      messages: [{ role: 'user', content: CANARY }],
      stop: [CANARY],
      user: CANARY,
      metadata: { note: CANARY },
    };
    const headers = { authorization: `Bearer ${CANARY}`, cookie: CANARY };
    await call(`${gateway.url}${CHAT}?q=${CANARY}`, { body, headers });
    gateway.fleet.script = { leg: 'decode', status: 400, body: { error: { message: `bad ${CANARY}` } } };
    await call(gateway.url + CHAT, { body, headers });
    const spans = await finished(exporter, gateway);
    const text = JSON.stringify(
      spans.map(({ name, attributes, events, status, links }) => [name, attributes, events, status, links]),
    );
    expect(text).toContain('engine_refused');
    expect(text).not.toContain(CANARY);
  });

  it('has no connection in the spans of a request where the host instruments net as well', async () => {
    const exporter = setUpTracing();
    const { connect } = Socket.prototype;
    let opened = 0;
    Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
      // As the instrumentation does. Connections of probes, and of this test, belong to no request.
      if (context.active() !== ROOT_CONTEXT) {
        opened += 1;
        trace.getTracer('net').startSpan('tcp.connect').end();
      }
      return Reflect.apply(connect, this, args) as Socket;
    };
    closeLater({
      close() {
        Socket.prototype.connect = connect;
      },
    });
    const gateway = await startGateway();
    await call(gateway.url + CHAT, { body: CHAT_BODY });
    // One for each leg: seen, and yet no span.
    expect(opened).toBe(2);
    expect((await finished(exporter, gateway)).map(({ name }) => name).sort()).toEqual([
      'chat example/model',
      'decode example/model',
      'prefill example/model',
    ]);
    expect(gateway.fleet.calls).toHaveLength(2);
    for (const { rawHeaders } of gateway.fleet.calls) {
      expect(rawHeaders.filter((word) => word.toLowerCase() === 'traceparent')).toHaveLength(1);
    }
  });

  it('passes the client headers through where nothing is set up, and with telemetry false', async () => {
    const headers = { traceparent: TRACEPARENT, tracestate: 'a=1' };
    const bare = await startGateway();
    await call(bare.url + CHAT, { body: CHAT_BODY, headers });
    const exporter = setUpTracing();
    const off = await startGateway({ router: { telemetry: false } });
    await call(off.url + CHAT, { body: CHAT_BODY, headers });
    for (const { headers: sent } of [...bare.fleet.calls, ...off.fleet.calls]) {
      expect(sent).toMatchObject(headers);
    }
    expect(await finished(exporter, off)).toEqual([]);
  });

  it('serves on where the set-up of the host throws, and says so once', async () => {
    const thrower = {
      onStart() {
        throw new Error('no spans today');
      },
      onEnd: () => undefined,
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
    };
    setUpTracing(thrower);
    const gateway = await startGateway();
    for (let i = 0; i < 2; i++) {
      expect((await call(gateway.url + CHAT, { body: CHAT_BODY })).status).toBe(200);
    }
    await gateway.journal.waitForRows(2);
    expect(gateway.logger.text.split('metrics or telemetry failed')).toHaveLength(2);
  });

  it('is left out where the host has no @opentelemetry/api', () => {
    const absent = () => {
      throw new Error("Cannot find module '@opentelemetry/api'");
    };
    expect(loadOtel(absent)).toBeNull();
    expect(loadOtel()).toBe(jest.requireActual('@opentelemetry/api'));
  });

  it.each([1, 'on', null])('refuses %j as the option', (telemetry) => {
    const make = () =>
      narwhalRouter({
        fleet: { model: 'm', engines: [{ iid: 'b0', url: 'http://127.0.0.1:9', role: 'both' }] },
        journal: false,
        telemetry: telemetry as never,
      });
    expect(thrownBy(make)?.message).toBe('narwhalRouter: telemetry must be true or false');
  });
});

describe('GenAI histograms', () => {
  function setUpMetrics() {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ readers: [reader] });
    metrics.setGlobalMeterProvider(provider);
    closeLater({
      async close() {
        metrics.disable();
        await provider.shutdown();
      },
    });
    return async () => {
      await reader.forceFlush();
      const all =
        exporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      return new Map(
        all.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints as DataPoint<Histogram>[]]),
      );
    };
  }

  it('are recorded under the names, buckets and attributes of the conventions', async () => {
    const read = setUpMetrics();
    const gateway = await startGateway({ fleetFile: { serving: { max_attempts: 1 } } });
    await call(gateway.url + CHAT, { body: CHAT_BODY });
    await call(gateway.url + CHAT, { body: { ...CHAT_BODY, model: CANARY } });
    await gateway.journal.waitForRows(2);
    const seen = await read();
    const common = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'vllm',
      'gen_ai.request.model': 'example/model',
    };
    expect([...seen.keys()].sort()).toEqual([
      'gen_ai.server.request.duration',
      'gen_ai.server.time_per_output_token',
      'gen_ai.server.time_to_first_token',
    ]);
    const duration = seen.get('gen_ai.server.request.duration')!;
    expect(duration.map(({ attributes, value }) => [attributes, value.count])).toEqual([
      [common, 1],
      [{ ...common, 'error.type': 'model' }, 1],
    ]);
    expect(duration[0]!.value.buckets.boundaries).toEqual(GEN_AI_BUCKETS.duration);
    for (const [name, bounds] of [
      ['gen_ai.server.time_to_first_token', GEN_AI_BUCKETS.firstToken],
      ['gen_ai.server.time_per_output_token', GEN_AI_BUCKETS.perToken],
    ] as const) {
      const points = seen.get(name)!;
      expect(points.map(({ attributes, value }) => [attributes, value.count])).toEqual([[common, 1]]);
      expect(points[0]!.value.buckets.boundaries).toEqual(bounds);
    }
  });

  it('are recorded also where the host sets them up after the router was built', async () => {
    const gateway = await startGateway();
    await call(gateway.url + CHAT, { body: CHAT_BODY });
    await gateway.journal.firstRow();
    const read = setUpMetrics();
    await call(gateway.url + CHAT, { body: CHAT_BODY });
    await gateway.journal.waitForRows(2);
    expect((await read()).get('gen_ai.server.request.duration')![0]!.value.count).toBe(1);
  });
});
