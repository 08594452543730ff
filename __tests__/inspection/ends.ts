/** How to bring about each row of the table of outcomes over HTTP. */
import axios from 'axios';
import type { OutcomeName } from '../../lib/outcomes';
import { bodyFor, CHAT, CHAT_BODY, call, type Reply, type Sent } from '../helpers/call';
import { type Gateway, type GatewayOptions, startGateway } from '../helpers/create-app';

/** One way to an outcome. */
export interface End {
  readonly gateway?: GatewayOptions;
  /** Put over a chat request that is right. */
  readonly sent?: Sent;
  /** Members put over its body. */
  readonly body?: object;
  /** What must have happened before; ends what it started when the test calls what it returns. */
  readonly before?: (gateway: Gateway) => Promise<(() => Promise<unknown>) | undefined>;
  /** Sends the request, where one call is not enough. */
  readonly send?: (gateway: Gateway) => Promise<Reply>;
}

const ONCE = { serving: { max_attempts: 1 } };

function engines(script: NonNullable<GatewayOptions['stub']>['script'], file: object = ONCE): End {
  return { gateway: { fleetFile: file, stub: { script } } };
}

/** A request that is left hanging at the prefill engine. */
async function hold(gateway: Gateway): Promise<() => Promise<unknown>> {
  const controller = new AbortController();
  const held = call(gateway.url + CHAT, { body: CHAT_BODY, signal: controller.signal }).catch(() => null);
  while (gateway.fleet.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  return () => {
    controller.abort();
    return held;
  };
}

const HANG = { leg: 'prefill', hang: true } as const;

function full(more: object): End {
  return {
    gateway: {
      fleetFile: { serving: { max_attempts: 1, max_connections: 1, ...more } },
      stub: { script: HANG },
    },
    before: hold,
  };
}

/** Legs after which the speed of an engine is known. */
const LEARNED = 9;

/** A fleet whose engines' speed is known, with a target that they do not meet. */
function priced(ttftS: number, prefillMs: number, atOnce: number): End {
  return {
    gateway: {
      fleetFile: { slo: { ttft_s: ttftS }, serving: { admission: 'predictive' } },
      router: { admissionGate: { maxDelayS: 60 } },
      stub: { script: { leg: 'prefill', delayMs: prefillMs } },
    },
    async send(gateway) {
      const post = () => call(gateway.url + CHAT, { body: CHAT_BODY });
      // One by one, so that each leg shows what it takes by itself.
      for (let i = 0; i < LEARNED; i++) {
        const reply = await post();
        if (reply.status !== 200) return reply;
      }
      for (;;) {
        const replies = await Promise.all(Array.from({ length: atOnce }, post));
        const refused = replies.find(({ status }) => status !== 200);
        if (refused !== undefined) return refused;
      }
    },
  };
}

function blockLoop(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Every row of the table; a row that is missing here is one that nothing brings about. */
export const ENDS: Readonly<Record<OutcomeName, End>> = {
  badJson: { sent: { body: '{,' } },
  badBodyShape: { sent: { body: '[]' } },
  badEncoding: { sent: { headers: { 'content-encoding': 'gzip' } } },
  unknownEncoding: { sent: { headers: { 'content-encoding': 'zstd' } } },
  bodyTooLarge: {
    gateway: { fleetFile: { serving: { max_request_bytes: 1000 } } },
    body: { user: 'x'.repeat(2000) },
  },
  badFieldType: { body: { max_tokens: '1' } },
  reservedField: { body: { vllm_xargs: { kv_transfer_params: 1 } } },
  badOutputOption: { body: { audio: {} } },
  unknownModel: { body: { model: 'other' } },
  badSamplingWidth: { body: { n: 2 } },
  missingField: { body: { messages: [] } },
  wrongMethod: { sent: { method: 'PUT' } },
  engineRefused: engines({ leg: 'decode', status: 422 }),

  unauthenticated: { gateway: { router: { apiKeys: ['key-1'] } } },
  inflightLimit: full({}),
  saturated: {
    gateway: {
      fleetFile: ONCE,
      router: { admissionGate: { maxDelayS: 0.001 } },
      stub: { script: HANG },
    },
    before: hold,
    async send({ url, fleet }) {
      for (;;) {
        const seen = fleet.calls.length;
        const controller = new AbortController();
        const reply = call(url + CHAT, { body: CHAT_BODY, signal: controller.signal }).catch(() => null);
        blockLoop(50);
        // Either it is answered at once, or it hangs at the engine as the one before.
        let done: Reply | null = null;
        void reply.then((answer) => {
          done = answer;
        });
        while (done === null && fleet.calls.length === seen) await new Promise(setImmediate);
        controller.abort();
        const answer = await reply;
        if (answer !== null) return answer;
      }
    },
  },
  tenantLimit: {
    gateway: { router: { authenticate: () => ({ tenant: 'a', requests_per_minute: 1 }) } },
    async send({ url }) {
      await call(url + CHAT, { body: CHAT_BODY });
      return call(url + CHAT, { body: CHAT_BODY });
    },
  },
  noEngine: {
    async before({ url }) {
      await call(`${url}/narwhal/engines/p0/drain`);
      return undefined;
    },
  },
  shuttingDown: {
    gateway: { fleetFile: ONCE, stub: { script: HANG }, router: { closeTimeoutS: 5 } },
    async before(gateway) {
      const release = await hold(gateway);
      void gateway.router.close();
      return release;
    },
  },

  promptOverBudget: priced(0.001, 20, 1),
  queueOverBudget: priced(0.3, 100, 6),

  requestExpired: engines(HANG, { serving: { request_timeout_s: 0.1 } }),
  queueExpired: full({ queue_capacity: 1, queue_timeout_s: 0.05 }),
  handoffExpired: { gateway: { fleetFile: { ...ONCE, engine: { kv_lease_s: 1e-6 } } } },

  engineUnreachable: {
    gateway: { fleetFile: ONCE },
    async before({ fleet }) {
      await fleet.engine('p0').stop();
      return undefined;
    },
  },
  engineConnection: engines({ leg: 'decode', resetAfterFrames: 0 }),
  engineTimeout: engines({ leg: 'decode', status: 504 }),
  engineOverloaded: engines({ leg: 'prefill', status: 429 }),
  engineError: engines({ leg: 'prefill', status: 500 }),
  engineAuth: engines({ leg: 'prefill', status: 401 }),
  badHandoff: engines({ leg: 'prefill', noHandoff: true }),
  badAnswer: engines({ leg: 'prefill', body: '{"oops"' }),
  answerTooLarge: engines(undefined, { serving: { max_attempts: 1, max_response_bytes: 300 } }),
  localPool: {
    gateway: { fleetFile: { ...ONCE, engine: { connect_timeout_s: 0.05, pool_timeout_s: 0.05 } } },
  },
  noEngineLeft: engines({ leg: 'decode', status: 500 }, { serving: { retry_base_s: 0.001 } }),
  noEngineLeftInTime: engines({ leg: 'decode', status: 504 }, { serving: { retry_base_s: 0.001 } }),
  internal: {
    gateway: {
      router: {
        authenticate: () => {
          throw new Error('the host failed');
        },
      },
    },
  },
};

/** Starts the gateway of an end. */
export function gatewayFor(name: OutcomeName): Promise<Gateway> {
  const { gateway = {} } = ENDS[name];
  if (name !== 'localPool') return startGateway({ breachesExpected: true, ...gateway });
  // A call that never gets as far as a socket.
  const client = axios.create();
  client.interceptors.request.use(() => new Promise(() => undefined));
  return startGateway({ breachesExpected: true, ...gateway, router: { client } });
}

/** Sends the request of an end. */
export function sendFor(name: OutcomeName, gateway: Gateway): Promise<Reply> {
  const { sent = {}, body = {}, send } = ENDS[name];
  if (send !== undefined) return send(gateway);
  return call(gateway.url + CHAT, { body: bodyFor(CHAT, body), ...sent });
}
