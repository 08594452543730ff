/** Bucket bounds of the histograms, in seconds. */

/** Lists of the OpenTelemetry GenAI conventions. */
export const GEN_AI_BUCKETS = Object.freeze({
  duration: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  firstToken: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  perToken: [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5],
});

/** Lists of `GET /metrics`: those above, and what a loaded fleet needs beyond. */
export const BUCKETS = Object.freeze({
  duration: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 600],
  leg: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 120],
  firstByte: [...GEN_AI_BUCKETS.firstToken, 20, 40, 80],
  perToken: [0.0025, 0.005, ...GEN_AI_BUCKETS.perToken],
  wait: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  overhead: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
});
