/** Reads of an engine's stream that end within a character, or hold events from elsewhere. */
import { Assembly } from '../../lib/serving/assembly';
import { ServingRecord } from '../../lib/serving/record';
import { chat, ROLE } from './assemble-helpers';

const FLOW = { hold: () => undefined, go: () => undefined };

function assembly() {
  const record = new ServingRecord();
  const made = new Assembly('chat', { maxBytes: 1 << 20 }, record);
  made.attach(FLOW);
  return { made, record };
}

function contentOf(text: string): unknown {
  const { choices } = JSON.parse(Buffer.from(text, 'latin1').toString('utf8')) as {
    choices: { message: { content: unknown } }[];
  };
  return choices[0]!.message.content;
}

const EVENTS = [
  ROLE,
  chat({ content: 'caf\u00e9 ' }),
  chat({ content: '\u6f6e' }),
  chat({}, { finish_reason: 'stop' }),
];

describe('an assembly', () => {
  it('takes nothing by itself of a read that ends within a character', () => {
    const { made } = assembly();
    const whole = Buffer.from(EVENTS.map((event) => `data: ${event}\n\n`).join(''));
    const cut = whole.subarray(0, whole.indexOf(Buffer.from('\u6f6e')) + 1);
    expect(made.takeRun(cut, 0)).toBe(0);
    made.flush();
    for (const event of EVENTS) made.event(Buffer.from(event));
    expect(contentOf(made.finish())).toBe('caf\u00e9 \u6f6e');
  });

  it('is the same from events of a read, from copies of them, and from both', () => {
    const read = Buffer.from(EVENTS.map((event) => `data: ${event}\n\n`).join(''));
    const answers = [0, 1, 2].map((way) => {
      const { made } = assembly();
      made.takeRun(read, read.length);
      EVENTS.forEach((event, at) => {
        const start = read.indexOf(event);
        const inside = read.subarray(start, start + Buffer.byteLength(event));
        made.event(way === 0 || (way === 2 && at % 2 === 0) ? inside : Buffer.from(inside));
      });
      return made.finish();
    });
    expect(new Set(answers).size).toBe(1);
    expect(contentOf(answers[0]!)).toBe('caf\u00e9 \u6f6e');
  });

  it('decodes each read anew, also where the last one was not flushed', () => {
    const { made } = assembly();
    const texts = [EVENTS.slice(0, 2), EVENTS.slice(2)];
    for (const events of texts) {
      const read = Buffer.from(events.map((event) => `data: ${event}\n\n`).join(''));
      let at = made.takeRun(read, 0);
      while (at < read.length) {
        const end = read.indexOf('\n\n', at);
        made.event(read.subarray(at + 'data: '.length, end));
        at = made.takeRun(read, end + 2);
      }
    }
    expect(contentOf(made.finish())).toBe('caf\u00e9 \u6f6e');
  });

  it('forgets what a failed attempt gave, and when its output came', () => {
    const { made, record } = assembly();
    made.event(Buffer.from(chat({ content: 'old' })));
    expect([made.hasOutput, record.firstOutputAt !== null]).toEqual([true, true]);
    made.attach(FLOW);
    expect([made.hasOutput, record.firstOutputAt, made.finishReason, made.usage]).toEqual([
      false,
      null,
      null,
      null,
    ]);
    for (const event of EVENTS) made.event(Buffer.from(event));
    expect(contentOf(made.finish())).toBe('caf\u00e9 \u6f6e');
    expect(record.finishReason).toBe('stop');
  });
});
