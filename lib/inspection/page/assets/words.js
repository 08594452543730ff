/** Numbers, times and states in words. */

/** Shown where there is no value. */
const NONE = '-';

/** @param {number} value */
function count(value) {
  return value.toLocaleString('en-US');
}

/** @param {number} seconds */
function duration(seconds) {
  if (seconds < 0.001) return `${(seconds * 1e6).toFixed(0)} us`;
  if (seconds < 0.01) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 1) return `${(seconds * 1000).toFixed(0)} ms`;
  return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
}

/** @param {number} value */
function perSecond(value) {
  return `${value >= 10 ? value.toFixed(0) : value.toFixed(1)}/s`;
}

/** Seconds as one number and its unit. @param {number} seconds */
function span(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

/** @param {Date} time */
function clock(time) {
  return time.toLocaleTimeString('en-GB');
}

/** `1 leg`, `2 legs`. @param {number} number @param {string} one */
function plural(number, one) {
  return `${count(number)} ${number === 1 ? one : `${one}s`}`;
}

/** @type {Record<EngineView['state'], { word: string, tone: 'good' | 'watch' | 'bad' | 'quiet' }>} */
const STATES = {
  live: { word: 'live', tone: 'good' },
  probation: { word: 'on probation', tone: 'watch' },
  cooling: { word: 'cooling', tone: 'watch' },
  ejected: { word: 'ejected', tone: 'bad' },
  draining: { word: 'draining', tone: 'watch' },
  drained: { word: 'drained', tone: 'quiet' },
};

/** @type {Record<string, string>} */
const SUSPICIONS = {
  connection: 'connections fail',
  timeout: 'no answer in time',
  inference_status: 'answers with errors',
  kv_handoff: 'handoffs fail',
  stream: 'breaks its streams',
  liveness: 'does not answer /health',
};

/** What there is to say of a state beside its word. @param {EngineView} engine */
function stateDetail(engine) {
  switch (engine.state) {
    case 'ejected': {
      const why = SUSPICIONS[engine.suspicion ?? ''] ?? engine.suspicion ?? '';
      const { quarantine_s: left } = engine;
      return `${why}; ${left === null ? 'until a good probe' : `quarantined for ${span(left)}`}`;
    }
    case 'draining':
      return `${plural(engine.prefills + engine.decodes, 'leg')} to finish`;
    case 'drained':
      return 'taken out by hand';
    case 'probation':
      return 'the next failure ejects it';
    case 'cooling':
      return 'it asked for a pause';
    default:
      return '';
  }
}

/** In one sentence: can the fleet serve? @param {PageFrame} frame */
function verdictOf(frame) {
  if (frame.status === 'draining')
    return { tone: 'watch', text: 'The gateway is closing: it takes no new requests.' };
  const out = frame.engines.filter(({ state }) => ['ejected', 'draining', 'drained'].includes(state));
  if (frame.shape === 'none') {
    return { tone: 'bad', text: `No request can be served: ${out.map(({ iid }) => iid).join(', ')} out.` };
  }
  const all = frame.engines.length;
  if (out.length === 0) {
    return { tone: 'quiet', text: all === 1 ? 'The engine takes work.' : `All ${all} engines take work.` };
  }
  const names = out.length > 4 ? '' : `: ${out.map(({ iid }) => iid).join(', ')}`;
  const tone = out.some(({ state }) => state === 'ejected') ? 'bad' : 'watch';
  return {
    tone,
    text: `${out.length} of ${all} engines ${out.length === 1 ? 'takes' : 'take'} no work${names}.`,
  };
}
