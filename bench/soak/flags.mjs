// Command line flags: `--name value` and `--name`.

/** @param {string} name @param {number} fallback */
export function numberFlag(name, fallback) {
  const at = process.argv.indexOf(`--${name}`);
  if (at === -1) return fallback;
  const value = Number(process.argv[at + 1]);
  if (!Number.isFinite(value) || value < 0) throw new Error(`--${name} must be a number`);
  return value;
}

/** @param {string} name */
export function hasFlag(name) {
  return process.argv.includes(`--${name}`);
}
