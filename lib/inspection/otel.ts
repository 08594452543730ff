/**
 * `@opentelemetry/api`, where the host has it and has set it up.
 *
 * It is an optional peer, so it is required when a router is built and may be absent. Every copy of it
 * shares what the host has registered.
 */
import type * as Otel from '@opentelemetry/api';
import type { Meter, MeterProvider, Tracer, TracerProvider } from '@opentelemetry/api';
import { packageVersion } from '../journal/journal';

/** The API's module. */
export type OtelApi = typeof Otel;

/** Name of the instrumentation: of its tracer and its meter. */
export const SCOPE = 'express-narwhal';

/** Loads the API. @returns null where the host has none. */
export function loadOtel(load: () => unknown = () => require('@opentelemetry/api')): OtelApi | null {
  try {
    return load() as OtelApi;
  } catch {
    return null;
  }
}

/** A provider that stands in until the host registers its own. */
interface StandIn extends TracerProvider {
  getDelegateTracer(name: string, version?: string): Tracer | undefined;
}

/** What the host has registered, asked for at each request: hosts may do that after they build the router. */
export class Providers {
  readonly api: OtelApi;
  readonly #version = packageVersion();
  #meterProvider: MeterProvider | null = null;
  #meter: Meter | null = null;

  constructor(api: OtelApi) {
    this.api = api;
  }

  /** Null while no tracer provider is registered. */
  tracer(): Tracer | null {
    const provider = this.api.trace.getTracerProvider();
    if ('getDelegateTracer' in provider) {
      return (provider as StandIn).getDelegateTracer(SCOPE, this.#version) ?? null;
    }
    return provider.getTracer(SCOPE, this.#version);
  }

  /** Null while no meter provider is registered; the same object as long as the provider is the same. */
  meter(): Meter | null {
    const provider = this.api.metrics.getMeterProvider();
    if (provider !== this.#meterProvider) {
      this.#meterProvider = provider;
      const meter = provider.getMeter(SCOPE, this.#version);
      this.#meter = meter === this.api.createNoopMeter() ? null : meter;
    }
    return this.#meter;
  }
}
