/** Pure: plain text tables, and text from outside made safe for a terminal. */

/**
 * Lines of a table: a head, then the rows, columns parted by two blanks.
 *
 * @param right indexes of the columns whose cells stand at the right.
 */
export function tableLines(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string[] {
  const cells = [head, ...rows].map((row) => row.map(printable));
  const widths = head.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)));
  return cells.map((row) =>
    row
      .map((cell, at) => (right.includes(at) ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
      .join('  ')
      .trimEnd(),
  );
}

/** Text without control characters: a terminal would act on them. */
export function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
}

/** `1 row`, `2 rows`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
