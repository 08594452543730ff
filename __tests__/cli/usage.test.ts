/** Help texts, and mistakes on the command line. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runNarwhal } from './narwhal';

const COMMANDS = ['serve', 'check', 'journal', 'demo'];

describe('help', () => {
  test.each(['--help', '-h', 'help'])(
    'of the program is printed for %s, with every command',
    async (word) => {
      const { code, stdout, stderr } = await runNarwhal([word]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      for (const name of COMMANDS) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'));
    },
  );

  test.each(COMMANDS)('of %s is printed with its flags and examples, also by "help"', async (name) => {
    const [own, byHelp] = await Promise.all([runNarwhal([name, '--help']), runNarwhal(['help', name])]);
    expect({ code: own.code, stderr: own.stderr }).toEqual({ code: 0, stderr: '' });
    expect(own.stdout).toContain(`Usage: narwhal ${name}`);
    expect(own.stdout).toMatch(/^ {2}--help /m);
    expect(own.stdout).toMatch(/^Examples:\n {2}# \S/m);
    expect(byHelp.stdout).toBe(own.stdout);
  });

  test('fits a terminal of 110 columns', async () => {
    for (const name of COMMANDS) {
      const { stdout } = await runNarwhal([name, '--help']);
      expect(stdout.split('\n').filter((line) => line.length > 110)).toEqual([]);
    }
  });

  test('knows the version of the package', async () => {
    const manifest = readFileSync(join(__dirname, '../../package.json'), 'utf8');
    const { version } = JSON.parse(manifest) as { version: string };
    expect(await runNarwhal(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });
});

describe('a mistake on the command line', () => {
  const mistakes: [string[], string][] = [
    [[], 'narwhal needs a command\nSee: narwhal --help\n'],
    [['sevre'], 'narwhal does not know the command "sevre" (did you mean serve?)\nSee: narwhal --help\n'],
    [['--flee'], 'narwhal does not know the command "--flee"\nSee: narwhal --help\n'],
    [['check', '--flete', 'x'], 'narwhal check: unknown flag --flete (did you mean --fleet?)'],
    [['check', '-x'], 'narwhal check: unknown flag -x'],
    [['check', '--fleet'], 'narwhal check: --fleet needs a value: --fleet PATH'],
    [['check', '--fleet', '--json'], 'narwhal check: --fleet needs a value: --fleet PATH'],
    [['check', '--json=yes'], 'narwhal check: --json takes no value'],
    [['check', '--timeout', 'soon'], 'narwhal check: --timeout must be a number from 0.1 to 3600'],
    [['check', 'fleet.json'], 'narwhal check: takes flags only, not "fleet.json"'],
    [['demo', '8080'], 'narwhal demo: takes flags only, not "8080"'],
    [['serve', '--port', '80.5'], 'narwhal serve: --port must be a whole number from 0 to 65535'],
    [['serve', '--port=0x10'], 'narwhal serve: --port must be a whole number from 0 to 65535, in digits'],
    [['serve', '--port', '1e3'], 'narwhal serve: --port must be a whole number from 0 to 65535, in digits'],
    [['check', '--timeout= 5'], 'narwhal check: --timeout must be a number from 0.1 to 3600, in digits'],
    [
      ['serve', '--port', '1', '--host', 'a', '--port=2'],
      'narwhal serve: takes --port once, not several times',
    ],
    [['check', '--json', '--json'], 'narwhal check: takes --json once, not several times'],
    [
      ['serve', '--api-keys-env', 'A', '--api-keys-file', 'b'],
      'narwhal serve: takes --api-keys-env or --api-keys-file, not both',
    ],
    [['serve', '--journal', 'a', '--no-journal'], 'narwhal serve: takes --journal or --no-journal, not both'],
    [['journal'], 'narwhal journal: needs the path of a journal file'],
    [['journal', '--since', 'noon', 'x'], 'narwhal journal: --since must be a time such as 90s'],
  ];

  test.each(mistakes)('%j ends with code 2 and says what would be right', async (args, text) => {
    const { code, stdout, stderr } = await runNarwhal(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.startsWith(text)).toBe(true);
    expect(stderr).toMatch(/\nSee: narwhal (\w+ )?--help\n$/);
  });
});
