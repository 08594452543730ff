/** The head of an answer: its status, its fields, and how its body ends. RFC 9112, section 4. */
import { answerLength, staysOpen, UNTIL_CLOSE } from './framing';
import { RawHeaders } from './raw-headers';
import { ResponseError } from './response-error';

/** What a head says. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: RawHeaders;
  /** Of the body, as `answerLength` tells it; means nothing for an interim answer. */
  readonly length: number;
  readonly reusable: boolean;
}

/**
 * @param text a head without the empty line that ends it, one character for each byte.
 * @throws {ResponseError} where it is none.
 */
export function readHead(text: string): AnswerHead {
  const line = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r\n\0]*)?(?:\r\n|$)/.exec(text);
  if (line === null) throw new ResponseError('no HTTP/1.1 status line');
  const headers = RawHeaders.parse(text, line[0].length);
  if (headers === null) throw new ResponseError('a header line that is none');
  const status = Number(line[2]);
  if (status === 101) throw new ResponseError('a switch of protocols that nobody asked for');
  if (status < 200) return { status, headers, length: 0, reusable: true };
  const length = answerLength(status, headers);
  const reusable = length !== UNTIL_CLOSE && staysOpen(status, line[1] === '1', headers);
  return { status, headers, length, reusable };
}
