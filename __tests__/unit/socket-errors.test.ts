import { ObjectHeaders } from '../../lib/engines/answer-headers';
import { isSocketLoss, PoolsClosedError, describe as sorted } from '../../lib/engines/socket-errors';
import { ClosedError, ConnectTimeoutError } from '../../lib/engines/wire/connection';
import { ResponseError } from '../../lib/engines/wire/response-error';

function failure(fields: object, message = 'words'): Error {
  return Object.assign(new Error(message), fields);
}

describe('an error of a connection', () => {
  it.each([
    [new ConnectTimeoutError('late'), ['connect_timeout', 'late']],
    [new PoolsClosedError(), ['closed', 'the connection pools are closed']],
    [new ResponseError('no answer'), ['answer', 'no answer']],
    [new ClosedError('gone'), ['connection', 'gone']],
    [failure({ code: 'ETIMEDOUT', syscall: 'connect' }), ['connect_timeout', 'ETIMEDOUT: words']],
    [failure({ code: 'ETIMEDOUT', syscall: 'read' }), ['connection', 'ETIMEDOUT: words']],
    [failure({ code: 'EHOSTUNREACH', syscall: 'write' }), ['connection', 'EHOSTUNREACH: words']],
    [failure({ code: 'ECONNREFUSED', syscall: 'connect' }), ['unreachable', 'ECONNREFUSED: words']],
    [failure({ code: 5 }), ['connection', 'words']],
    // Both addresses of a name: the error of the whole has no text of its own.
    [failure({ errors: [failure({ code: 'ENOTFOUND' })] }, ''), ['unreachable', 'ENOTFOUND: connect failed']],
    [failure({ errors: [] }), ['connection', 'words']],
  ])('%s is sorted by what it means', (error, meaning) => {
    expect(sorted(error)).toEqual(meaning);
  });

  it.each([
    [new ClosedError('gone'), true],
    [failure({ code: 'EPIPE' }), true],
    [failure({ code: 'ECONNRESET' }), true],
    [failure({ code: 'ECONNREFUSED' }), false],
    [new ResponseError('no answer'), false],
  ])('%s is a lost connection or not', (error, isLoss) => {
    expect(isSocketLoss(error)).toBe(isLoss);
  });
});

describe('header fields that an interceptor has left', () => {
  const headers = new ObjectHeaders({
    'Content-Type': 'text/plain',
    'retry-after': '1',
    odd: 5,
    none: undefined,
  });

  it('are found by their name in lower case', () => {
    expect([headers.get('content-type'), headers.get('retry-after')]).toEqual(['text/plain', '1']);
  });

  it('are those that are text', () => {
    expect([headers.get('odd'), headers.get('none'), headers.get('other')]).toEqual([null, null, null]);
    expect(headers.all()).toEqual({ 'content-type': 'text/plain', 'retry-after': '1' });
  });
});
