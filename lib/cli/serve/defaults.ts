/** What `narwhal serve` does where no flag says otherwise. */

export const DEFAULT_PORT = 8080;
export const DEFAULT_JOURNAL = './narwhal-journal.jsonl';
/** Looked at for keys where no flag names a source. */
export const DEFAULT_VARIABLE = 'NARWHAL_API_KEYS';
/** Seconds. Kubernetes kills 30 s after it has asked. */
export const DEFAULT_DRAIN_S = 25;
