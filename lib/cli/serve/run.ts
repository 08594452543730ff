/** Runs `narwhal serve`: settings from the flags, signals, and what an operator is told. */
import { resolve } from 'node:path';
import { defaultFleetPath } from '../../config/fleet-file';
import { type Given, UsageError } from '../arguments';
import { endOnSignal } from '../signals';
import { count } from '../table';
import { DEFAULT_DRAIN_S, DEFAULT_JOURNAL, DEFAULT_PORT, DEFAULT_VARIABLE } from './defaults';
import { type Gateway, type GatewaySettings, startGateway } from './gateway';
import { describeSource, keySource } from './keys';
import { FileWatch } from './watch';

/** Runs until a signal ends it. */
export async function runServe(given: Given): Promise<null> {
  const settings = settingsOf(given, process.env);
  const watch = new FileWatch(watchedPaths(settings), () => reload(gateway, settings, watch));
  const gateway = await startGateway(settings);
  watch.start();
  process.on('SIGHUP', () => reload(gateway, settings, watch));
  endOnSignal(async () => {
    watch.stop();
    say(farewell(gateway, settings));
    await gateway.close();
    say('ended');
  });
  if (settings.keys === null) {
    say(
      'warning: no keys: everyone who reaches the port may use the engines. Put keys into ' +
        `${DEFAULT_VARIABLE}, or name another place with --api-keys-env or --api-keys-file.`,
    );
  }
  console.log(`narwhal: serving ${welcome(gateway, settings)}`);
  return null;
}

/** What happens at run time goes to standard error: standard output has the one line that it is ready. */
function say(text: string): void {
  console.error(`narwhal: ${text}`);
}

function settingsOf(given: Given, env: NodeJS.ProcessEnv): GatewaySettings {
  if (given.has('api-keys-env') && given.has('api-keys-file')) {
    throw new UsageError('takes --api-keys-env or --api-keys-file, not both');
  }
  if (given.has('journal') && given.has('no-journal')) {
    throw new UsageError('takes --journal or --no-journal, not both');
  }
  const anyPort = { min: 0, max: 65_535, whole: true };
  return {
    fleetPath: given.text('fleet') ?? defaultFleetPath(env),
    keys: keySource(given.text('api-keys-env'), given.text('api-keys-file'), env),
    journalPath: given.has('no-journal') ? null : (given.text('journal') ?? DEFAULT_JOURNAL),
    port: given.number('port', anyPort) ?? portOf(env),
    host: given.text('host'),
    metricsPort: given.number('metrics-port', anyPort),
    page: given.has('page'),
    drainS: given.number('drain-timeout', { min: 0, max: 86_400 }) ?? DEFAULT_DRAIN_S,
    env,
    onError: (error) => say(`a replaced fleet did not close in order: ${textOf(error)}`),
  };
}

function portOf(env: NodeJS.ProcessEnv): number {
  const text = env['PORT'];
  if (text === undefined || text === '') return DEFAULT_PORT;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError('PORT must be a whole number from 0 to 65535');
}

function watchedPaths({ fleetPath, keys }: GatewaySettings): string[] {
  return keys?.kind === 'file' ? [fleetPath, keys.path] : [fleetPath];
}

function reload({ live }: Gateway, { fleetPath }: GatewaySettings, watch: FileWatch): void {
  watch.accept();
  try {
    live.replace();
    say(`took over ${fleetPath}: ${fleetWords(live.state())}`);
  } catch (error) {
    say(`did not take over the new files, the old ones stay: ${textOf(error)}`);
  }
}

type State = ReturnType<Gateway['live']['state']>;

function fleetWords({ model, engines }: State): string {
  const roles = ['prefill', 'decode', 'both'] as const;
  const parts = roles
    .map((role) => ({ role, number: engines.filter((engine) => engine.role === role).length }))
    .filter(({ number }) => number > 0)
    .map(({ role, number }) => `${number} ${role}`);
  return `${model} on ${parts.join(', ')} ${engines.length === 1 ? 'engine' : 'engines'}`;
}

function welcome({ url, metricsUrl, live }: Gateway, settings: GatewaySettings): string {
  const { keys, journalPath, page } = settings;
  return [
    `${url}: ${fleetWords(live.state())}`,
    keys === null ? 'open to everyone' : `keys from ${describeSource(keys)}`,
    journalPath === null ? 'no journal' : `journal ${resolve(journalPath)}`,
    ...(metricsUrl === null ? [] : [`metrics ${metricsUrl}/metrics`]),
    ...(page ? [`page ${pageUrl(url, settings.host)}`] : []),
    `${count(settings.drainS, 'second')} to drain`,
  ].join('; ');
}

function farewell({ live }: Gateway, { drainS }: GatewaySettings): string {
  const { in_flight: running, queued } = live.state();
  const work = `${count(running, 'request')} in flight, ${queued} queued`;
  return `ending: no new work; ${work}; at most ${count(drainS, 'second')}; a second signal ends it at once`;
}

/** On every interface the page is told by the one name of this machine that it answers to. */
function pageUrl(url: string, host: string | null): string {
  return `${host === null ? `http://localhost:${new URL(url).port}` : url}/narwhal/`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
