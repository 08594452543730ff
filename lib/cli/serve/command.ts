/** `narwhal serve`: a production gateway on its own. What it is made of is loaded when it runs. */
import type { Command } from '../command';
import { DEFAULT_DRAIN_S, DEFAULT_JOURNAL, DEFAULT_PORT, DEFAULT_VARIABLE } from './defaults';
import type * as Run from './run';

export const serveCommand: Command = {
  name: 'serve',
  summary: 'A gateway in front of the engines of a fleet file.',
  operands: null,
  flags: {
    fleet: { value: 'PATH', help: 'fleet file (default: $NARWHAL_FLEET, else ./fleet.json)' },
    port: { value: 'N', help: `port (default: $PORT, else ${DEFAULT_PORT}; 0 takes any)` },
    host: { value: 'ADDRESS', help: 'address to listen on (default: every interface)' },
    'api-keys-env': {
      value: 'NAME',
      help: `variable with the keys that clients present (default: ${DEFAULT_VARIABLE}, if set)`,
    },
    'api-keys-file': { value: 'PATH', help: 'file with these keys, in place of a variable' },
    journal: { value: 'PATH', help: `journal file (default: ${DEFAULT_JOURNAL})` },
    'no-journal': { help: 'keep no journal' },
    page: { help: 'fleet page at /narwhal/, for this machine and on the second port' },
    'metrics-port': { value: 'N', help: 'second port with /metrics, /health, /ready and /narwhal/state' },
    'drain-timeout': {
      value: 'SECONDS',
      help: `time for running requests at the end (default: ${DEFAULT_DRAIN_S})`,
    },
  },
  notes: [
    'Keys: parted by blanks, commas or line ends; or JSON from key to identity:',
    '  {"key-of-acme": {"tenant": "acme"}}',
    'Without keys everyone who reaches the port may use the engines; a warning says so.',
    '',
    'Signals: SIGTERM and SIGINT end it in order (a second one at once). SIGHUP reads the fleet file and the key',
    'file again, and so does a change of either. A bad file is refused, with the reasons on standard error, and',
    'the old one stays. Requests that run at that moment end with the fleet that they began with.',
  ],
  examples: [
    ['NARWHAL_API_KEYS=key-of-acme narwhal serve', 'serve ./fleet.json on port 8080'],
    ['narwhal serve --fleet /etc/narwhal/fleet.json --api-keys-file /etc/narwhal/keys', 'keys from a file'],
    ['narwhal serve --host 127.0.0.1 --metrics-port 9464', 'behind a proxy on this machine, with a scraper'],
    ['narwhal serve --page', 'with a page that shows the fleet live'],
    ["pkill -HUP -f 'narwhal serve'", 'read the files again'],
  ],
  run: (given) => (require('./run') as typeof Run).runServe(given),
};
