// The invariants as plain checks.

export function check(ok, detail) {
  return { ok, detail };
}

export function none(count) {
  return check(count === 0, String(count));
}

export function listed(texts) {
  return texts.length === 0 ? 'none' : `${texts.length}: ${texts.slice(0, 5).join('; ')}`;
}

/**
 * Both ledgers balance, and they agree: the router calls nothing claimed or reclaimed that an engine does not
 * know of, and every handoff that is left behind is counted, but those that the router was never told of
 * (the answer of a prefill was cut, or its engine went down).
 */
export function handoffInvariants(router, engines) {
  const untold = engines.produced - router.produced;
  return {
    'handoffs by the router: produced = claimed + reclaimed + leased': check(
      router.held === 0 && router.produced === router.claimed + router.reclaimed + router.leased,
      JSON.stringify(router),
    ),
    'handoffs by the engines: produced = claimed + released + left': check(
      engines.produced === engines.claimed + engines.released + engines.left,
      JSON.stringify(engines),
    ),
    'every claim and reclaim is known to an engine': check(
      router.claimed <= engines.claimed && router.reclaimed <= engines.released,
      `${router.claimed} of ${engines.claimed}, ${router.reclaimed} of ${engines.released}`,
    ),
    'every handoff left behind is counted': check(
      untold >= 0 && engines.left <= router.leased + untold,
      `${engines.left} left, ${router.leased} counted, ${untold} never told`,
    ),
  };
}
