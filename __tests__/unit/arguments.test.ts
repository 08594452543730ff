/** How a command reads its flags: without a process. */
import { readArguments, UsageError } from '../../lib/cli/arguments';
import type { Flags } from '../../lib/cli/command';

const FLAGS: Flags = {
  fleet: { value: 'PATH', help: 'the fleet' },
  port: { value: 'PORT', help: 'the port' },
  json: { help: 'as JSON' },
};

function read(...args: string[]) {
  return readArguments(args, FLAGS, false);
}

describe('the flags of a command', () => {
  it('are read in any order, with = or a blank', () => {
    const given = read('--json', '--fleet=--odd', '--port', '80');
    expect([given.has('json'), given.text('fleet')]).toEqual([true, '--odd']);
    expect(given.number('port', { min: 0, max: 100, whole: true })).toBe(80);
  });

  it('have no value where they were not given', () => {
    const given = read();
    expect([given.has('json'), given.text('fleet'), given.number('port', { min: 0, max: 1 })]).toEqual([
      false,
      null,
      null,
    ]);
    expect(read('--json').text('json')).toBeNull();
  });

  it.each([['--help'], ['-h']])('always have %s', (word) => {
    expect(read(word).has('help')).toBe(true);
  });

  it.each([
    [['--flete', 'x'], 'unknown flag --flete (did you mean --fleet?)'],
    [['-x'], 'unknown flag -x'],
    [['--constructor'], 'unknown flag --constructor'],
    [['--json', '--json'], 'takes --json once, not several times'],
    [['--json=yes'], '--json takes no value'],
    [['--fleet'], '--fleet needs a value: --fleet PATH'],
    [['--fleet='], '--fleet needs a value: --fleet PATH'],
    [['--fleet', '--port', '1'], '--fleet needs a value: --fleet PATH'],
    [['fleet.json'], 'takes flags only, not "fleet.json"'],
  ])('are refused where they are wrong: %j', (args, message) => {
    expect(() => read(...args)).toThrow(new UsageError(message));
  });

  it.each([
    ['80.5', true],
    ['0x10', false],
    ['1e1', false],
    ['101', false],
    ['-1', false],
    ['', false],
  ])('take %j for no number in the range', (text, whole) => {
    const ask = () => read(`--port=${text}`).number('port', { min: 0, max: 100, whole });
    expect(ask).toThrow(UsageError);
  });

  it('leave operands alone where the command takes them', () => {
    expect(readArguments(['a', '--json', '--', '--b'], FLAGS, true).operands).toEqual(['a', '--b']);
  });
});
