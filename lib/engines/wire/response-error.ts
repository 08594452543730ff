/** What is said of bytes that are no good answer. */

/** The bytes are no answer that can be trusted. The message never repeats them. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError';
}
