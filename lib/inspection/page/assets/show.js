/** One frame on the page. */

/** @typedef {import('../frame').PageFrame} PageFrame */
/** @typedef {import('../frame').EngineView} EngineView */
/** @typedef {import('../frame').Spread} Spread */

const CHARTS = {
  firstByte: makeChart('first-byte-chart', ['median', 'p95']),
  interval: makeChart('interval-chart', ['median', 'p95']),
  rate: makeChart('rate-chart', ['completed', 'not served']),
};

keepRoles('failures-table');

/** @type {PageFrame | null} */
let shown = null;

/** @param {PageFrame} frame */
function show(frame) {
  announce(shown, frame);
  shown = frame;
  say('model', frame.model);
  const verdict = verdictOf(frame);
  say('verdict', verdict.text, verdict.tone);
  showNumbers(frame);
  showCurves(frame);
  showEngines(frame);
  showRefusals(frame);
  showFailures(frame);
  if (byId('minutes').hasAttribute('open')) showMinutes(frame);
  const out = frame.engines.filter(({ state }) => state === 'ejected').length;
  document.title = out === 0 ? 'Fleet' : `(${out} ejected) Fleet`;
  say(
    'about',
    [
      `express-narwhal ${frame.version}`,
      `up for ${span(frame.uptime_s)}`,
      `${count(frame.total.completed)} completed and ${count(frame.total.cancelled)} cancelled since the start`,
      `${count(frame.retries)} retried`,
      ...(frame.journal_rows_lost > 0 ? [`${count(frame.journal_rows_lost)} journal rows lost`] : []),
    ].join(' \u00b7 '),
  );
}

/** @param {PageFrame} frame */
function showNumbers(frame) {
  say('in-flight', count(frame.in_flight));
  say('seats', `${count(frame.seats_taken)} of ${count(frame.seats)} seats`);
  say('queued', count(frame.queued));
  say('queue-room', frame.queue_capacity > 0 ? `of ${count(frame.queue_capacity)}` : 'no queue');
  say('held', count(frame.handoffs_held));
  say('completed', count(frame.recent.completed));
  say('refused', count(frame.recent.refused));
  say('failed', count(frame.recent.failed), frame.recent.failed > 0 ? 'bad' : null);
}

/** @param {PageFrame} frame */
function showCurves({ bins, bin_s: width, first_byte: firstByte, token_interval: interval }) {
  const empty = 'No answer has ended in the last 5 minutes.';
  /** @param {'first_byte' | 'token_interval'} name @param {0 | 1} at */
  const curve = (name, at) => bins.map((bin) => bin[name]?.[at] ?? null);
  /** @param {Spread} spread @param {0 | 1} at */
  const now = (spread, at) => (spread === null ? NONE : duration(spread[at]));
  CHARTS.firstByte.draw(
    [
      { name: 'median', now: now(firstByte, 0), values: curve('first_byte', 0) },
      { name: 'p95', now: now(firstByte, 1), values: curve('first_byte', 1) },
    ],
    duration,
    empty,
  );
  CHARTS.interval.draw(
    [
      { name: 'median', now: now(interval, 0), values: curve('token_interval', 0) },
      { name: 'p95', now: now(interval, 1), values: curve('token_interval', 1) },
    ],
    duration,
    empty,
  );
  const good = bins.map(({ completed }) => completed / width);
  const bad = bins.map(({ failed, refused }) => (failed + refused) / width);
  const isQuiet = [...good, ...bad].every((rate) => rate === 0);
  CHARTS.rate.draw(
    [
      { name: 'completed', now: lately(good), values: isQuiet ? [] : good },
      { name: 'not served', now: lately(bad), values: isQuiet ? [] : bad },
    ],
    perSecond,
    'No request has ended in the last 5 minutes.',
  );
}

/** The mean over the last minute. @param {number[]} rates */
function lately(rates) {
  const last = rates.slice(-12);
  return perSecond(last.reduce((sum, rate) => sum + rate, 0) / last.length);
}

/** Says aloud what an operator would look up for, and nothing else. @param {PageFrame | null} before @param {PageFrame} frame */
function announce(before, frame) {
  if (before === null) return;
  const known = new Map(before.engines.map(({ iid, state }) => [iid, STATES[state].word]));
  const changed = frame.engines.filter(({ iid, state }) => known.get(iid) !== STATES[state].word);
  // A pause that an engine asks for comes and goes under load.
  const worth = changed.filter(
    ({ iid, state }) => state !== 'cooling' && known.get(iid) !== STATES.cooling.word,
  );
  if (worth.length > 3) say('news', `${worth.length} engines have changed their state.`);
  else if (worth.length > 0)
    say('news', worth.map(({ iid, state }) => `${iid} is ${STATES[state].word}.`).join(' '));
}
