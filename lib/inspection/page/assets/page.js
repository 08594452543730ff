/** The connection to the gateway: kept, told of when it is lost, and made again. */

/** Waits before another try, ms; the last one repeats. */
const WAITS_MS = [1000, 2000, 4000, 8000];

/** Wait before the try that follows an end in good order, ms. */
const AT_ONCE_MS = 300;

/** Frames come each second; a connection without one for so long is taken as lost. */
const SILENCE_MS = 6000;

/** @type {AbortController | null} */
let connection = null;
/** When the last frame came. @type {Date | null} */
let heardAt = null;
let tries = 0;
let isPaused = false;
let isLost = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

async function connect() {
  clearTimeout(timer);
  const mine = new AbortController();
  connection = mine;
  try {
    await follow(mine);
    if (connection !== mine) return;
    // An end in good order: a new fleet file was taken over, say. What else it may be, the next try tells.
    connection = null;
    timer = setTimeout(() => void connect(), AT_ONCE_MS);
  } catch (error) {
    // Whoever has put another in its place, or none, has said so.
    if (connection === mine) lose(error instanceof Error && error.name === 'Error' ? error.message : '');
  }
}

/** Shows frames until the connection ends. @param {AbortController} mine */
async function follow(mine) {
  let watch = setTimeout(() => mine.abort(), SILENCE_MS);
  try {
    const response = await fetch('events', { signal: mine.signal, cache: 'no-store' });
    if (!response.ok || response.body === null) throw new Error(await refusalOf(response));
    if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
      throw new Error('Something else answers in its place: is there a page to sign in?');
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    let hasHeard = false;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        if (!hasHeard) throw new Error('It ended before it said anything.');
        return;
      }
      const events = (rest + value).split('\n\n');
      rest = events.pop() ?? '';
      const last = events.pop();
      if (last === undefined) continue;
      clearTimeout(watch);
      watch = setTimeout(() => mine.abort(), SILENCE_MS);
      if (connection !== mine) return;
      hasHeard = true;
      hear(JSON.parse(last.slice('data: '.length)));
    }
  } finally {
    clearTimeout(watch);
    mine.abort();
  }
}

/** @param {Response} response */
async function refusalOf(response) {
  if (response.status === 503) return (await response.text()).trim().slice(0, 200);
  if (response.status === 404) return 'The gateway no longer shows you this page (404).';
  return `The gateway answered with ${response.status}.`;
}

/** @param {PageFrame} frame */
function hear(frame) {
  if (isLost) say('news', 'Connected to the gateway again.');
  isLost = false;
  tries = 0;
  heardAt = new Date();
  byId('notice').hidden = true;
  say('link', 'live', 'good');
  show(frame);
}

/** @param {string} why */
function lose(why) {
  connection = null;
  const what =
    heardAt === null ? 'There is no connection to the gateway.' : 'The connection to the gateway is lost.';
  if (!isLost) say('news', what);
  isLost = true;
  say('link', heardAt === null ? 'no connection' : 'connection lost', 'bad');
  const wait = WAITS_MS[Math.min(tries++, WAITS_MS.length - 1)];
  const seen = heardAt === null ? '' : ` What you see is of ${clock(heardAt)}.`;
  const detail = why === '' ? '' : ` ${why}`;
  say('notice', `${what}${detail}${seen} Trying again.`);
  byId('notice').hidden = false;
  timer = setTimeout(() => void connect(), wait);
}

function leave() {
  clearTimeout(timer);
  const old = connection;
  connection = null;
  old?.abort();
}

byId('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  setAttribute(byId('pause'), 'aria-pressed', String(isPaused));
  if (isPaused) {
    leave();
    byId('notice').hidden = true;
    say('link', `paused at ${clock(new Date())}`, 'watch');
  } else {
    say('link', 'connecting', 'quiet');
    void connect();
  }
});

// A page in the background takes no place among the viewers.
document.addEventListener('visibilitychange', () => {
  if (isPaused) return;
  if (document.hidden) leave();
  else if (connection === null) void connect();
});

byId('minutes').addEventListener('toggle', () => {
  if (shown !== null) showMinutes(shown);
});

void connect();
