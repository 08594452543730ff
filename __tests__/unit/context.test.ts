/** What is kept of one request, and what a host may see of it. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { narwhalContext, openContext } from '../../lib/context';
import { NarwhalError } from '../../lib/errors';

function arriving(fields: object = {}): IncomingMessage {
  return { headers: {}, url: '/v1/completions', ...fields } as IncomingMessage;
}

describe('the context of a request', () => {
  it('is one, whoever asks first', () => {
    const req = arriving();
    expect(openContext(req)).toBe(openContext(req));
    expect(openContext(arriving())).not.toBe(openContext(req));
  });

  it.each([
    [{ originalUrl: '/llm/v1/completions/?key=CANARY', url: '/v1/completions' }, '/llm/v1/completions'],
    [{ url: '/v1/completions?key=CANARY' }, '/v1/completions'],
    [{ url: undefined }, ''],
  ])('knows the path as the client wrote it, without its query: %j', (fields, route) => {
    expect(openContext(arriving(fields)).route).toBe(route);
  });

  it.each([
    [['a', 'b'], null],
    ['', null],
    ['a\nb', null],
    ['mine', 'mine'],
  ])('keeps the client id %j only where it is one line of text', (id, kept) => {
    expect(openContext(arriving({ headers: { 'x-request-id': id } })).clientRequestId).toBe(kept);
  });

  it('calls back at once where nothing works for the request', () => {
    const step = jest.fn();
    openContext(arriving()).whenIdle(step);
    expect(step).toHaveBeenCalledTimes(1);
  });

  it('calls back once when the last work for the request is over, however often one end is told', () => {
    const context = openContext(arriving());
    const [first, second] = [context.hold(), context.hold()];
    const step = jest.fn();
    context.whenIdle(step);
    first();
    first();
    expect(step).not.toHaveBeenCalled();
    second();
    second();
    expect(step).toHaveBeenCalledTimes(1);
  });

  it('calls all back that asked for the end of the response, in their order, with one listener', () => {
    const context = openContext(arriving());
    const res = new EventEmitter() as unknown as ServerResponse;
    const seen: string[] = [];
    for (const name of ['a', 'b', 'c']) context.whenClosed(res, () => seen.push(name));
    expect(res.listenerCount('close')).toBe(1);
    res.emit('close');
    expect(seen).toEqual(['a', 'b', 'c']);
  });

  it('keeps the first end that was told', () => {
    const context = openContext(arriving());
    context.settleError(new NarwhalError('noEngine', 'no engine'), 503);
    context.settleError(new NarwhalError('internal', 'a bug'), 500);
    expect(context.outcome).toMatchObject({ status: 503, reason: 'no_engine', error: 'no engine' });
  });
});

describe('what a host may see of a request', () => {
  it('is nothing of a request that no middleware has seen', () => {
    expect(narwhalContext(arriving())).toBeUndefined();
  });

  it('is frozen, and has no body and no end before there are any', () => {
    const req = arriving();
    const { requestId } = openContext(req);
    const seen = narwhalContext(req)!;
    expect(seen).toMatchObject({ requestId, identity: null, terminal: null, reason: null });
    expect(seen.body).toBeUndefined();
    expect(Object.isFrozen(seen) && Object.isFrozen(seen.timings)).toBe(true);
  });

  it('is the state of the moment: what was given out before does not change', () => {
    const req = arriving();
    const context = openContext(req);
    const before = narwhalContext(req);
    context.settleError(new NarwhalError('noEngine', 'no engine'), 503);
    expect(before?.terminal).toBeNull();
    expect(narwhalContext(req)).toMatchObject({ terminal: context.outcome?.terminal, reason: 'no_engine' });
  });
});
