/**
 * The short way for the events of a plain answer.
 *
 * Most events differ from their predecessor only in one string. Where the bytes before and after that
 * string are the same, parsing could find nothing new, so the string is appended as it stands, escapes
 * included. The predecessor's other effects need no repeating: all of them are of the kind that
 * changes nothing the second time.
 */
import { isStringBody } from '../../json/raw-json';
import { Frame } from './frame';
import type { Merge } from './merge';
import type { RawText } from './raw-text';

/** The frame around the one string that changes, and where that string goes. */
export class Template {
  /** The same frame in an event stream. */
  private readonly open: string;
  private readonly close: string;

  /** @param target where the one string goes in which events differ that have this frame. */
  constructor(
    private readonly frame: Frame,
    private readonly target: RawText,
  ) {
    this.open = `data: ${frame.open}`;
    this.close = `${frame.close}\n\n`;
  }

  /**
   * The template that a merged event makes, or null where repeating it would do more than append one
   * string: log probabilities, token ids, two texts at once.
   */
  static from({ lead, text, appends, lastString }: Merge): Template | null {
    if (appends !== 1 || lastString === null) return null;
    const { start, end, target } = lastString;
    const before = lead === '' ? text.slice(0, start) : `{${lead}${text.slice(1, start)}`;
    return new Template(new Frame(before, text.slice(end)), target);
  }

  /**
   * Appends the strings of the events that follow each other in a chunk, framed in the plain form
   * `data: <json>\n\n`, as long as they fit.
   *
   * @returns where the first byte stands that was not taken, and whether anything was appended.
   */
  takeRun(text: string, from: number): { readonly at: number; readonly filled: boolean } {
    const { open, close, target } = this;
    let at = from;
    let filled = false;
    for (;;) {
      const start = at + open.length;
      if (text.slice(at, start) !== open) break;
      // A string with an escaped quote ends elsewhere: it is left to `take`.
      const quote = text.indexOf('"', start);
      const end = quote + close.length;
      if (quote === -1 || text.slice(quote, end) !== close) break;
      const piece = text.slice(start, quote);
      if (!isStringBody(piece)) break;
      target.append(piece);
      if (piece !== '') filled = true;
      at = end;
    }
    return { at, filled };
  }

  /**
   * Appends the event's string, if the event fits.
   *
   * @returns how many bytes were appended, or -1 where the event must be parsed.
   */
  take(text: string): number {
    const piece = this.frame.inside(text);
    if (piece === null) return -1;
    this.target.append(piece);
    return piece.length;
  }
}
