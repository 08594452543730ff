/** Answers of stub engines in one piece, and how they are cut, kept open, or refused. */

import { type StubFleet, type StubScript, startStubFleet } from '../../lib/testing/index';
import { bodyMembers, isProbe, isReclaim, type StubCall } from '../../lib/testing/stub-call';
import { CHAT, COMPLETIONS, MESSAGES, post, type Reply } from './client';

const BODY = { messages: MESSAGES };

describe('an answer in one piece', () => {
  let fleet: StubFleet;
  beforeAll(async () => {
    fleet = await startStubFleet({ prefill: 1, decode: 1, both: 1, generate: () => ({ content: ['one'] }) });
  });
  afterAll(() => fleet.close());
  afterEach(() => {
    fleet.engine('b0').script = undefined;
    fleet.reset();
  });

  const play = (script: StubScript): Promise<Reply> => {
    fleet.engine('b0').script = script;
    return post(fleet.engine('b0'), CHAT, BODY);
  };
  /** Leaves when the answer's last byte is there. */
  const playOpen = async (script: StubScript): Promise<Reply> => {
    fleet.engine('b0').script = script;
    const leave = new AbortController();
    let text = '';
    const onPiece = (piece: Buffer): void => {
      text += piece.toString('utf8');
      if (text.endsWith('}') && text.includes('"usage"')) setImmediate(() => leave.abort());
    };
    const reply = await post(fleet.engine('b0'), CHAT, BODY, { signal: leave.signal, onPiece });
    while (fleet.engine('b0').inFlight > 0) await new Promise(setImmediate);
    return reply;
  };

  it('has no body where it ends before its first byte', async () => {
    const reply = await play({ endAfterFrames: 0 });
    expect([reply.status, reply.text, reply.error]).toEqual([200, '', undefined]);
  });

  it('may come in pieces and is the same', async () => {
    const [whole, pieces] = [await play({}), await play({ cutBytes: 7 })];
    const content = ({ text }: Reply) => (JSON.parse(text) as { choices: unknown }).choices;
    expect(content(pieces)).toEqual(content(whole));
    expect(pieces.headers['content-length']).toBe(String(pieces.text.length));
  });

  it.each([{ keepOpenAfterDone: true }, { keepOpenAfterDone: true, cutBytes: 50 }])(
    'may be written whole and not ended: %j',
    async (script) => {
      const reply = await playOpen(script);
      expect(reply.error).toBe('ABORT_ERR');
      expect(JSON.parse(reply.text)).toMatchObject({ choices: [{ message: { content: 'one' } }] });
      expect(fleet.calls[0]).toMatchObject({ framesSent: 1, responseEnded: false, closedEarly: true });
    },
  );

  it.each(['p0', 'd0'])('is a refusal of %s for a body that is no JSON, and a breach', async (iid) => {
    const reply = await post(fleet.engine(iid), COMPLETIONS, '{"prompt":');
    expect(reply.status).toBe(400);
    expect(fleet.breaches.join()).toContain(iid === 'p0' ? 'prefill-shape' : 'decode-without-handoff');
  });
});

describe('a call whose body is no JSON object', () => {
  const call = { path: COMPLETIONS, requestId: 'probe-reclaim', json: undefined, body: Buffer.from('[1]') };

  it('has no members, and is neither a probe nor a reclaim leg', () => {
    const bad = call as unknown as StubCall;
    expect([bodyMembers(bad).size, isProbe(bad), isReclaim(bad)]).toEqual([0, false, false]);
    const good = {
      ...call,
      json: { max_tokens: 1 },
      body: Buffer.from('{"max_tokens":1}'),
    } as unknown as StubCall;
    expect([bodyMembers(good).size, isProbe(good), isReclaim(good)]).toEqual([1, true, true]);
    expect(isReclaim({ ...good, path: '/health' })).toBe(false);
    expect(isReclaim({ ...good, json: { max_tokens: 2 } })).toBe(false);
  });
});
