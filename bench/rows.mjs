// What each row must be, and whether it is.

/**
 * `most` rows may not be above their floor, others not below. A row without a floor informs, and fails only
 * when it could not be measured. `named` measures run only when they are asked for by name.
 */
export const ROWS = {
  'json requests/s': { measure: 'json', unit: 'x (a)', floor: 0.6, goal: 0.95 },
  'json CPU': { measure: 'json', unit: 'x (a)', floor: 1.7, goal: 1.1, most: true },
  'json p99': { measure: 'json', unit: 'x (a)', floor: 1.8, goal: 1.15, most: true },
  'stream CPU': { measure: 'stream', unit: 'x raw pipe', floor: 1.8, goal: 1.4, most: true },
  'stream lag': { measure: 'stream', unit: 'ms', floor: 1, goal: 0.4, most: true },
  'prompt 100 KB': { measure: 'prompts', unit: 'x (a) CPU', floor: 0.6, goal: 0.4, most: true },
  'prompt 1 MB': { measure: 'prompts', unit: 'x (a) CPU', floor: 0.6, goal: 0.4, most: true },
  assembly: { measure: 'assembly', unit: 'x (a) CPU', floor: 1.5, goal: 0.9, most: true },
  'journal row': { measure: 'journal', unit: 'us', floor: 4, goal: 2, most: true },
  'loop block, 4 MB': { measure: 'block', unit: 'ms', floor: 24, goal: 12, most: true },
  'RSS, 100,000 requests': { measure: 'memory', unit: 'MB', floor: 160, goal: 110, most: true },
  'RSS, 1,000 streams': { measure: 'memory', unit: 'MB', floor: 160, goal: 110, most: true },
  '10,000 streams served': { measure: 'many', unit: 'share', floor: 1, goal: 1 },
  '10,000 streams CPU': { measure: 'many', unit: 'cores', goal: 1, most: true },
  'toy proxy': { measure: 'peers', unit: 'x its req/s', floor: 5, goal: 10 },
  'http-proxy-middleware': { measure: 'peers', unit: 'x its req/s' },
  '@portkey-ai/gateway': { measure: 'peers', unit: 'x its req/s' },
  'createServer CPU': { measure: 'server', unit: 'x app.listen', most: true, named: true },
};

const all = Object.values(ROWS);

/** Names of the measures that there are. */
export const NAMES = [...new Set(all.map(({ measure }) => measure))];

/** Those that a run without names makes. */
export const DEFAULT_NAMES = NAMES.filter((name) => all.every((row) => row.measure !== name || !row.named));

/** @returns an error message, or null when all measures exist */
export function unknownNames(names) {
  const unknown = names.filter((name) => !NAMES.includes(name));
  return unknown.length === 0 ? null : `no measure ${unknown.join(', ')}; there are ${NAMES.join(', ')}`;
}

/** The rows of a measure when it broke. */
export function failedRows(measure, reason) {
  const names = Object.keys(ROWS).filter((name) => ROWS[name].measure === measure);
  return Object.fromEntries(names.map((name) => [name, { failed: reason }]));
}

/**
 * One row of the result.
 * @param {string} name
 * @param {{ value?: number, min?: number, max?: number, skipped?: string, failed?: string,
 *   remark?: string }} figure `remark`: what the reader must know of the value
 */
export function judge(name, figure) {
  const { unit, floor = null, goal = null, most = false } = ROWS[name];
  const { value = null, min = null, max = null, skipped = null, failed = null, remark = null } = figure;
  const reaches = (bound) => (most ? value <= bound : value >= bound);
  const isMeasured = skipped === null && failed === null && Number.isFinite(value);
  const holds = skipped !== null || (isMeasured && (floor === null || reaches(floor)));
  const reachesGoal = isMeasured && goal !== null ? reaches(goal) : null;
  return { name, value, min, max, unit, floor, goal, holds, reachesGoal, skipped, failed, remark };
}

/** Exit status of a run. */
export function statusOf(rows) {
  return rows.every(({ holds }) => holds) ? 0 : 1;
}
