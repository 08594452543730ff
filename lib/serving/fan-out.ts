/**
 * A list of prompts: one two-leg request for each, merged into one answer.
 *
 * An engine would hand over one KV cache for the whole list (vLLM #54707), so each prompt goes its own
 * way. One part's failure fails the whole.
 */
import { firstElement, type Member, objectMembers, type Span } from '../json/members';
import { splice } from '../json/splice';
import { Budget } from './assembling/budget';
import { Assembly } from './assembly';
import { type Serving, serve } from './dispatch';
import type { Job } from './job';
import { Presence } from './presence';
import { Relay } from './relay';
import { noteUsage, sumUsage, wantsUsage } from './usage';

/**
 * Serves a list of prompts.
 *
 * @param prompts where each prompt stands in the body's text.
 * @throws what the first failing part failed with; the other parts are cut.
 */
export async function serveList(serving: Serving, job: Job, prompts: readonly Span[]): Promise<void> {
  job.record.parts = prompts.length;
  const streams = job.body.outline['stream'] === true;
  await (streams ? streamParts(serving, job, prompts) : assembleParts(serving, job, prompts));
}

async function streamParts(serving: Serving, job: Job, prompts: readonly Span[]): Promise<void> {
  const { answer, record, route, rid } = job;
  const id = JSON.stringify(`cmpl-${rid}`);
  const usages: object[] = [];
  let usageFrame: Buffer | null = null;
  await together(job, prompts, (part, index) => {
    const relay = new Relay(answer, record, {
      route,
      wantsUsage: false,
      rewrite: (event) => renumbered(event, index, id),
      onUsage: (usage, event) => {
        usages[index] = usage;
        usageFrame = event;
      },
    });
    return serve(serving, part, relay);
  });
  const usage = sumUsage(usages.filter((part) => part !== undefined));
  if (usage !== null) noteUsage(record, usage);
  if (!wantsUsage(job.body.outline) || usageFrame === null) {
    answer.done();
    return;
  }
  const edits = { id, usage: JSON.stringify(usage), choices: '[]' };
  answer.done(Buffer.concat([Buffer.from('data: '), edited(usageFrame, edits), Buffer.from('\n\n')]));
}

async function assembleParts(serving: Serving, job: Job, prompts: readonly Span[]): Promise<void> {
  const { record, route, rid } = job;
  const maxBytes = serving.fleet.config.serving.maxResponseBytes;
  const shared = new Budget(maxBytes);
  const assemblies: Assembly[] = [];
  await together(job, prompts, (part, index) => {
    const assembly = new Assembly(route, { maxBytes, shared, shapes: serving.shapes[route] }, record);
    assemblies[index] = assembly;
    return serve(serving, part, assembly);
  });
  const texts = assemblies.map((assembly) => Buffer.from(assembly.finish(), 'latin1'));
  const usage = sumUsage(assemblies.flatMap((assembly) => (assembly.usage === null ? [] : [assembly.usage])));
  if (usage !== null) noteUsage(record, usage);
  const choices = texts.map((text, index) => renumberedChoice(text, objectMembers(text), index));
  const edits: Record<string, string | Buffer> = {
    id: JSON.stringify(`cmpl-${rid}`),
    choices: Buffer.concat([Buffer.from('['), ...joined(choices), Buffer.from(']')]),
  };
  if (usage !== null) edits['usage'] = JSON.stringify(usage);
  job.answer.json(200, edited(texts[0]!, edits));
}

/** Runs all parts; the first failure cuts the others and is the failure of the whole. */
async function together(
  job: Job,
  prompts: readonly Span[],
  run: (part: Job, index: number) => Promise<void>,
): Promise<void> {
  const presence = new Presence();
  job.presence.check();
  const forget = job.presence.onLeave((why) => presence.leave(why));
  const tokens = Math.max(1, Math.ceil(job.tokens / prompts.length));
  let first: unknown = null;
  const parts = prompts.map(async (span, index) => {
    const prompt = job.body.textOf(span);
    try {
      await run({ ...job, presence, tokens, part: { index, prompt } }, index);
    } catch (error) {
      first ??= error;
      presence.leave();
    }
  });
  await Promise.all(parts);
  forget();
  if (first !== null) throw first;
}

/** An event of one part, with the index and the id that it has in the whole. */
function renumbered(event: Buffer, index: number, id: string): Buffer {
  const members = objectMembers(event);
  const edits = new Map<string, string | Buffer>([['id', id]]);
  const choice = renumberedChoice(event, members, index);
  if (choice.length > 0) edits.set('choices', Buffer.concat([Buffer.from('['), choice, Buffer.from(']')]));
  return splice(event, members, edits);
}

/** The only choice of an answer or event, renumbered; empty where there is none. */
function renumberedChoice(text: Buffer, members: readonly Member[], index: number): Buffer {
  const choices = members.find(({ name }) => name === 'choices');
  const first = choices === undefined ? null : firstElement(text, choices.valueStart);
  if (first === null) return Buffer.alloc(0);
  return splice(text, objectMembers(text, first.start), new Map([['index', String(index)]]));
}

function edited(text: Buffer, edits: Readonly<Record<string, string | Buffer>>): Buffer {
  return splice(text, objectMembers(text), new Map(Object.entries(edits)));
}

function joined(texts: readonly Buffer[]): Buffer[] {
  return texts.flatMap((text, index) => (index === 0 ? [text] : [Buffer.from(','), text]));
}
