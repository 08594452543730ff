/** Pure: the client's text and a dialect's field table make the texts of the two legs. */
import type { Connector } from '../engines/connectors/connector';
import type { Dialect, FieldAction } from '../engines/dialects/dialect';
import { type CallBody, ONE_PIECE_BYTES } from '../engines/transport';
import { objectMembers } from '../json/members';
import { type Edit, splice, spliceParts } from '../json/splice';
import type { ParsedBody } from '../request/parsed-body';

type Edits = Map<string, Edit>;

/** Writes leg bodies for one fleet: the edits that are the same for every request are made once. */
export class LegWriter {
  readonly #prefill: Edits;
  readonly #decode: Edits;
  readonly #whole: Edits;
  readonly #loosened: readonly string[];
  readonly #askUsage: readonly string[];
  readonly #handoffFields: readonly string[];

  constructor(dialect: Dialect, connector: Connector, model: string) {
    const { fields } = dialect;
    const modelText = JSON.stringify(model);
    this.#prefill = editsOf(
      fields.map(({ field, prefill }) => [field, prefill]),
      modelText,
      connector.question,
    );
    this.#decode = editsOf(
      fields.map(({ field, decode }) => [field, decode]),
      modelText,
      null,
    );
    this.#whole = editsOf(
      fields.filter(({ decode }) => decode.kind !== 'set').map(({ field, decode }) => [field, decode]),
      modelText,
      null,
    );
    this.#loosened = fields.filter(({ prefill }) => prefill.kind === 'loosen').map(({ field }) => field);
    this.#askUsage = fields.filter(({ decode }) => decode.kind === 'ask-usage').map(({ field }) => field);
    this.#handoffFields = fields.filter(({ decode }) => decode.kind === 'handoff').map(({ field }) => field);
  }

  /**
   * The body of the prefill leg: one token, no stream, the connector's question.
   *
   * @param prompt raw JSON text that stands in for `prompt`: one part of a list.
   */
  prefill(body: ParsedBody, prompt?: Buffer): CallBody {
    let edits = this.#prefill;
    for (const field of this.#loosened) {
      if (isForced(body.outline[field])) edits = new Map([...edits, [field, '"auto"']]);
    }
    if (prompt !== undefined) edits = new Map([...edits, ['prompt', prompt]]);
    return written(body, edits);
  }

  /**
   * The body of the decode leg: the client's, streamed, with usage asked for and the handoff as received.
   *
   * @param handoff its raw JSON text; null for a single leg.
   */
  decode(body: ParsedBody, handoff: Buffer | null, prompt?: Buffer): CallBody {
    // One map for all requests: it is filled and read within this call. A copy of it for each costs 2 us.
    const edits = prompt === undefined ? this.#decode : new Map(this.#decode);
    for (const field of this.#askUsage) {
      edits.set(field, usageOptions(body, field) ?? undefined);
    }
    for (const field of this.#handoffFields) edits.set(field, handoff);
    if (prompt !== undefined) edits.set('prompt', prompt);
    return written(body, edits);
  }

  /** The body of a leg that is the whole request: the client's, answered as JSON as the client asked. */
  whole(body: ParsedBody): CallBody {
    return written(body, this.#whole);
  }

  /** The body of a reclaim leg: one token with the handoff, so that a decode engine takes it and lets go. */
  reclaim(body: ParsedBody, handoff: Buffer, prompt?: Buffer): Buffer {
    const edits = new Map(this.#prefill);
    for (const field of this.#loosened) edits.set(field, null);
    for (const field of this.#handoffFields) edits.set(field, handoff);
    if (prompt !== undefined) edits.set('prompt', prompt);
    return splice(body.bytes, body.members, edits);
  }
}

function written(body: ParsedBody, edits: Edits): CallBody {
  const { members } = body;
  if (body.length > ONE_PIECE_BYTES) return spliceParts(body.chunks, members, edits);
  return splice(body.bytes, members, edits);
}

function editsOf(
  actions: readonly (readonly [string, FieldAction])[],
  modelText: string,
  question: string | null,
): Edits {
  const edits: Edits = new Map();
  for (const [field, action] of actions) {
    if (action.kind === 'drop') edits.set(field, null);
    else if (action.kind === 'set') edits.set(field, Buffer.from(action.text));
    else if (action.kind === 'model') edits.set(field, Buffer.from(modelText));
    else if (action.kind === 'handoff') edits.set(field, question === null ? null : Buffer.from(question));
  }
  return edits;
}

/** `"required"` and a named function force a call; `"auto"`, `"none"` and null do not. */
function isForced(choice: unknown): boolean {
  return choice === 'required' || (typeof choice === 'object' && choice !== null);
}

const USAGE_ALONE = Buffer.from('{"include_usage":true}');

/**
 * The client's `stream_options` with `include_usage` on.
 *
 * @returns null where the client's value is of another type: the engine is left to refuse it.
 */
function usageOptions(body: ParsedBody, field: string): Buffer | null {
  const own = body.outline[field];
  if (own === undefined || own === null) return USAGE_ALONE;
  if (typeof own !== 'object' || Array.isArray(own)) return null;
  const { valueStart: start, valueEnd: end } = body.members.find(({ name }) => name === field)!;
  const text = body.textOf({ start, end });
  return splice(text, objectMembers(text), new Map([['include_usage', 'true']]));
}
