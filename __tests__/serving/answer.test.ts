/** The client's side of an answer, at moments at which there is nothing to write any more. */
import type { ServerResponse } from 'node:http';
import { NarwhalError } from '../../lib/errors';
import { Answer } from '../../lib/serving/answer';

function response(fields: object) {
  const written: string[] = [];
  const note = (name: string) => (): void => void written.push(name);
  const state = { headersSent: false, destroyed: false, writableEnded: false, ...fields };
  const calls = { setHeader: note('setHeader'), write: note('write'), end: note('end'), once: note('once') };
  return { written, res: { ...state, ...calls, on: () => undefined } as unknown as ServerResponse };
}

const EVENT = Buffer.from('data: {}\n\n');

describe('an answer', () => {
  it.each([{ headersSent: true }, { destroyed: true }])('is not sent twice, nor to nobody: %j', (fields) => {
    const { res, written } = response(fields);
    new Answer(res).json(200, '{}');
    expect(written).toEqual([]);
  });

  it.each([
    { destroyed: true, headersSent: true },
    { writableEnded: true, headersSent: true },
  ])('writes no event, comment or end behind its end, and holds nobody back: %j', (fields) => {
    const { res, written } = response(fields);
    const answer = new Answer(res);
    const drained = jest.fn();
    expect(answer.write(EVENT, drained)).toBe(true);
    answer.comment();
    answer.done();
    answer.done(EVENT);
    answer.endWithError(new NarwhalError('noEngine', 'x'));
    expect(written).toEqual([]);
    expect(drained).not.toHaveBeenCalled();
  });

  it('ends once with what was left to say', () => {
    const { res, written } = response({ headersSent: true });
    new Answer(res).done(EVENT);
    expect(written).toEqual(['end']);
  });
});
