/** A misspelt option throws at once, in every factory that takes options, and the message names the right one. */
import * as main from '../../lib/index';
import { startStubFleet } from '../../lib/testing';
import { thrownBy } from '../helpers/alone';

const FLEET = { model: 'm', engines: [{ iid: 'b0', url: 'http://127.0.0.1:9', role: 'both' }] };
const REDIS = { isOpen: true, eval: async () => [] };

/** What each factory is called with: options in which the first word is wrong, and the right one. */
const FACTORIES: Readonly<Record<string, readonly [(options: never) => unknown, string, string]>> = {
  admissionGate: [main.admissionGate, 'queueCapcity', 'queueCapacity'],
  authStrip: [main.authStrip, 'apikey', 'apiKeys'],
  createFleet: [(options) => main.createFleet(FLEET, options), 'loger', 'logger'],
  createJournal: [(options: object) => main.createJournal({ path: 'x', ...options }), 'maxFile', 'maxFiles'],
  dispatchEngine: [main.dispatchEngine, 'flet', 'fleet'],
  journalRecord: [main.journalRecord, 'jornal', 'journal'],
  loadFleet: [(options) => main.loadFleet('./none.json', options), 'clint', 'client'],
  modelGuard: [(options: object) => main.modelGuard({ models: ['m'], ...options }), 'maxByte', 'maxBytes'],
  narwhalRouter: [main.narwhalRouter, 'closeTimeout', 'closeTimeoutS'],
  outputGuard: [main.outputGuard, 'onErorr', 'onError'],
  redisLimitStore: [(options) => main.redisLimitStore(REDIS, options), 'prefx', 'prefix'],
  samplingGuard: [main.samplingGuard, 'maxbytes', 'maxBytes'],
  validateCompletion: [main.validateCompletion, 'requireInputs', 'requireInput'],
};

/** They take no options of ours. */
const WITHOUT = [
  'ConfigError',
  'NarwhalError',
  'createServer',
  'isNarwhalError',
  'narwhalContext',
  'narwhalErrorHandler',
];

it('is asked of every factory that there is', () => {
  expect([...Object.keys(FACTORIES), ...WITHOUT].sort()).toEqual(Object.keys(main).sort());
});

it.each(Object.entries(FACTORIES))('throws in %s', (_name, [make, wrong, right]) => {
  const error = thrownBy(() => make({ [wrong]: undefined } as never));
  expect(error).toBeInstanceOf(main.ConfigError);
  expect(error?.message).toContain(`unknown option ${wrong} (did you mean ${right}?)`);
});

it('throws in startStubFleet, for options and for members of a script', async () => {
  await expect(startStubFleet({ prefil: 2 } as object)).rejects.toThrow(/prefil .*did you mean prefill\?/);
  await expect(startStubFleet({ script: { stattus: 500 } as object })).rejects.toThrow(
    /stattus .*did you mean status\?/,
  );
});
