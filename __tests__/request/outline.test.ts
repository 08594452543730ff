/** Long bodies, whose long strings are not made: nobody may be able to tell but by the CPU. */
import fc from 'fast-check';
import { NarwhalError } from '../../lib/errors';
import { objectMembers } from '../../lib/json/members';
import { LONG_BODY_BYTES } from '../../lib/request/outline';
import { parseBody } from '../../lib/request/parse-body';
import { objectText, type Piece, pieces } from '../json/json-text';
import { refusal } from './failure';

const LONG = 'The quick \\"brown\\" fox.\\n'.repeat(1000);

function chunksOf(text: string, size: number): Buffer[] {
  const bytes = Buffer.from(text);
  const count = Math.max(1, Math.ceil(bytes.length / size));
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

/** The outcome of a body, for comparing two ways to read it. */
function outcome(text: string, chunkBytes = 65_536): unknown {
  try {
    const { value, members, bytes } = parseBody(chunksOf(text, chunkBytes));
    expect(bytes.toString()).toBe(text);
    return { value, members };
  } catch (error) {
    if (!(error instanceof NarwhalError)) throw error;
    return { outcome: error.outcome, message: error.message };
  }
}

describe('a long body', () => {
  it('is read without its long strings, which are there for who asks', () => {
    const text = `{"model":"m","messages":[{"role":"user","content":"${LONG}"}],"n":1}`;
    const body = parseBody(Buffer.from(text));
    expect(body.hasValue).toBe(false);
    expect(body.outline).toEqual({ model: 'm', messages: [{ role: 'user', content: '...' }], n: 1 });
    expect(body.value).toEqual(JSON.parse(text));
    expect(body.value).toBe(body.value);
    expect(body.hasValue).toBe(true);
    expect(body.members).toEqual(objectMembers(Buffer.from(text)));
  });

  it('is not joined where it came in chunks, until somebody asks', () => {
    const text = `{"prompt":"${LONG}","n":1}`;
    const chunks = chunksOf(text, 10_000);
    const body = parseBody(chunks);
    expect(body.chunks).toEqual(chunks);
    expect(body.length).toBe(text.length);
    expect(body.textOf({ start: 9_995, end: 10_005 }).toString()).toBe(text.slice(9_995, 10_005));
    expect(body.bytes.toString()).toBe(text);
  });

  it('is joined once where it came in small chunks, of which there may be a hundred thousand', () => {
    const text = `{"prompt":["${LONG}","${LONG}"],"n":1}`;
    const body = parseBody(chunksOf(text, 40));
    expect(body.chunks).toHaveLength(1);
    expect(body.outline).toEqual({ prompt: ['...', '...'], n: 1 });
  });

  it('may have many long strings', () => {
    const text = JSON.stringify({ prompt: Array.from({ length: 500 }, () => 'z'.repeat(300)) });
    const body = parseBody(chunksOf(text, 10_000));
    expect(body.outline).toEqual({ prompt: Array.from({ length: 500 }, () => '...') });
    expect(body.members).toEqual(objectMembers(Buffer.from(text)));
  });

  it('may have a mark before it, in whatever chunks', () => {
    const text = `{"prompt":"${LONG}"}`;
    for (const size of [1, 2, 3, 4, 9_000]) {
      const body = parseBody(chunksOf(`\ufeff${text}`, size));
      expect(body.bytes.toString()).toBe(text);
      expect(body.members[0]?.keyStart).toBe(1);
    }
  });

  it('may have characters of several bytes, which may stand in two chunks', () => {
    const text = `{"prompt":"${'\u4f60\u597d \u{1f44b} \\ud83d\\udc4b '.repeat(2000)}","stop":"\u00e9"}`;
    for (const size of [997, 10_000, 65_536]) {
      const body = parseBody(chunksOf(text, size));
      expect(body.outline).toEqual({ prompt: '...', stop: '\u00e9' });
      expect(body.value).toEqual(JSON.parse(text));
      expect(body.bytes.toString()).toBe(text);
    }
  });

  it('is refused for bytes that are no UTF-8, also in a string that is cut', () => {
    const bytes = Buffer.from(`{"prompt":"${LONG}"}`);
    bytes[5000] = 0xff;
    expect(refusal(() => parseBody(bytes)).outcome).toBe('badEncoding');
    expect(refusal(() => parseBody([bytes.subarray(0, 300), bytes.subarray(300)])).outcome).toBe(
      'badEncoding',
    );
  });

  it.each([
    ['a bad escape', `{"prompt":"${LONG}\\q"}`],
    ['a control character', `{"prompt":"${LONG}\n"}`],
    ['no end', `{"prompt":"${LONG}`],
    ['something behind it', `{"prompt":"${LONG}"} x`],
    ['a missing comma', `{"prompt":"${LONG}" "n":1}`],
    ['a backslash between two strings', `{"prompt":"${LONG}"\\,"n":1}`],
    ['a string alone', `"${LONG}`],
  ])('is no JSON for %s', (_what, text) => {
    expect(refusal(() => parseBody(Buffer.from(text))).message).toBe('the request body is not valid JSON');
  });

  it.each([
    ['half a surrogate pair', `{"prompt":"${LONG}\\ud83d"}`, 'badJson'],
    ['half a surrogate pair in a short string', `{"prompt":"${LONG}","user":"\\ud83d"}`, 'badJson'],
    ['a list', `["${LONG}"]`, 'badBodyShape'],
    ['a text', `"${LONG}"`, 'badBodyShape'],
    ['a key that occurs twice', `{"prompt":"${LONG}","prompt":"x"}`, 'badBodyShape'],
    ['a long key that occurs twice', `{"${LONG}":1,"${LONG}":2}`, 'badBodyShape'],
  ])('is refused for %s, as a short one is', (_what, text, expected) => {
    expect(refusal(() => parseBody(Buffer.from(text))).outcome).toBe(expected);
  });

  it('keeps long keys apart that begin alike', () => {
    const { value, outline, members } = parseBody(
      Buffer.from(`{"${LONG}a" : 1,"${LONG}b":2,"prompt":"${LONG}"}`),
    );
    expect(Object.keys(outline)).toEqual(Object.keys(value));
    expect(new Set(members.map(({ name }) => name)).size).toBe(3);
  });

  it('keeps a long name of a model, and one that looks like a string that was cut', () => {
    for (const model of ['m'.repeat(400), '...']) {
      const { outline } = parseBody(Buffer.from(`{"model":"${model}","prompt":"${LONG}"}`));
      expect(outline['model']).toBe(model);
    }
  });

  it('is parsed as it is where long strings are not most of it', () => {
    const ids = Array.from({ length: 20_000 }, (_, at) => at);
    const { outline } = parseBody(Buffer.from(JSON.stringify({ prompt: ids, user: 'x'.repeat(300) })));
    expect(outline).toEqual({ prompt: ids, user: 'x'.repeat(300) });
  });

  it('begins at its size', () => {
    const text = (length: number) => `{"prompt":"${'x'.repeat(length - 13)}"}`;
    expect(parseBody(Buffer.from(text(LONG_BODY_BYTES))).outline['prompt']).toBe('...');
    expect(parseBody(Buffer.from(text(LONG_BODY_BYTES - 1))).outline['prompt']).toHaveLength(
      LONG_BODY_BYTES - 14,
    );
  });

  it('says the same of every object as a short body of the same members', () => {
    const filled = fc.tuple(
      pieces,
      fc.nat({ max: 6 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 50, max: 70_000 }),
    );
    fc.assert(
      fc.property(filled, ([parts, place, times, size]) => {
        const long: Piece = {
          key: '"long"',
          name: 'long',
          beforeColon: ' ',
          afterColon: '\n',
          value: `[${Array.from({ length: times }, () => `"${LONG}"`).join(' , ')}]`,
          beforeComma: '',
          afterComma: ' ',
        };
        const all = [...parts.slice(0, place), long, ...parts.slice(place)];
        const text = objectText(all, ' ');
        const names = all.map(({ name }) => name);
        if (new Set(names).size < names.length) {
          expect(outcome(text, size)).toMatchObject({ outcome: 'badBodyShape' });
        } else {
          expect(outcome(text, size)).toEqual({
            value: JSON.parse(text),
            members: objectMembers(Buffer.from(text)),
          });
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is taken exactly when JSON.parse takes it, whatever byte of it is another', () => {
    const text = `{"model":"m","messages":[{"content":"${LONG}"},{"content":"\\ud83d\\udc4b"}],"n":1}`;
    const interesting = [...'{}[]",:\\ \n\u0000u"n1x.-+eE/'].map((character) => character.charCodeAt(0));
    // Most of the places are around the ends of the strings, where a change does most.
    const at = fc.oneof(
      fc.nat({ max: text.length - 1 }),
      fc.integer({ min: 0, max: 45 }),
      fc.integer({ min: text.length - 60, max: text.length - 1 }),
    );
    fc.assert(
      fc.property(at, fc.constantFrom(...interesting), fc.constantFrom(0, 1), (place, code, drop) => {
        const changed = text.slice(0, place) + String.fromCharCode(code) + text.slice(place + drop);
        let parses = true;
        try {
          JSON.parse(changed);
        } catch {
          parses = false;
        }
        const result = outcome(changed, 10_007) as { value?: unknown; outcome?: string };
        if (!parses) expect(result.outcome).toBe('badJson');
        else if ('value' in result) expect(result.value).toEqual(JSON.parse(changed));
        else expect(changed).toMatch(/\\ud[0-9a-f]{3}|"(?:model|n|messages)"/);
      }),
      { numRuns: 1500 },
    );
  });
});
