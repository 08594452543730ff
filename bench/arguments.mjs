// Pure: the command line of the bench.

/**
 * @param {string[]} args
 * @param {Record<string, 'number' | 'text' | 'switch'>} kinds flags that there are, by name
 * @returns {{ flags: Record<string, number | string | boolean>, names: string[], problem: string | null }}
 */
export function readArguments(args, kinds) {
  const flags = {};
  const names = [];
  const rest = [...args];
  while (rest.length > 0) {
    const word = rest.shift();
    if (!word.startsWith('--')) {
      names.push(word);
      continue;
    }
    const name = word.slice(2);
    if (!Object.hasOwn(kinds, name)) {
      const known = Object.keys(kinds).map((one) => `--${one}`);
      return { flags, names, problem: `no flag ${word}; there are ${known.join(', ')}` };
    }
    if (kinds[name] === 'switch') {
      flags[name] = true;
      continue;
    }
    const value = rest.shift();
    if (value === undefined) return { flags, names, problem: `${word} wants a value` };
    flags[name] = kinds[name] === 'number' ? Number(value) : value;
    if (kinds[name] === 'number' && !(flags[name] > 0)) {
      return { flags, names, problem: `${word} must be a number above 0` };
    }
  }
  return { flags, names, problem: null };
}
