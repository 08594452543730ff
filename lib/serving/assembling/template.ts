/**
 * The short way for the events of a plain answer.
 *
 * Most events differ from their predecessor only in one string. Where the bytes before and after that
 * string are the same, parsing could find nothing new, so the string is appended as it stands, escapes
 * included. The predecessor's other effects need no repeating: all of them are of the kind that
 * changes nothing the second time.
 */
import { isStringBody } from '../../json/raw-json';
import type { Merge } from './raw-record';
import type { RawText } from './raw-text';

/** The frame around the one string that changes, and where that string goes. */
export class Template {
  private constructor(
    private readonly before: string,
    private readonly after: string,
    private readonly target: RawText,
  ) {}

  /**
   * The template that a merged event makes, or null where repeating it would do more than append one
   * string: log probabilities, token ids, two texts at once.
   */
  static from({ text, appends, lastString }: Merge): Template | null {
    if (appends !== 1 || lastString === null) return null;
    const { start, end, target } = lastString;
    return new Template(text.slice(0, start), text.slice(end), target);
  }

  /**
   * Appends the event's string, if the event fits.
   *
   * @returns how many bytes were appended, or -1 where the event must be parsed.
   */
  take(text: string): number {
    const { before, after } = this;
    const end = text.length - after.length;
    if (end < before.length) return -1;
    // Cut and compare: measured at a third of the time of `startsWith`.
    if (text.slice(0, before.length) !== before || text.slice(end) !== after) return -1;
    const piece = text.slice(before.length, end);
    // With a bare quote or a broken escape inside, the string ends elsewhere than it seems.
    if (!isStringBody(piece)) return -1;
    this.target.append(piece);
    return piece.length;
  }
}
