/** Just enough of Markdown to test the docs. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(__dirname, '../..');

/** Paths of the pages, from the root: the README and everything in docs/. */
export const PAGES: readonly string[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

/** A fenced block: its info string (`js`, `js run`), its text, and the line on which it begins. */
export interface CodeBlock {
  readonly info: string;
  readonly text: string;
  readonly line: number;
}

export function codeBlocks(markdown: string): CodeBlock[] {
  return [...markdown.matchAll(/^```([^\n`]*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    info: match[1]!.trim(),
    text: match[2]!,
    line: markdown.slice(0, match.index).split('\n').length,
  }));
}

/** The text with code taken out: neither links nor headings stand in it. */
export function prose(markdown: string): string {
  return markdown
    .replace(/^```[^\n`]*\n[\s\S]*?^```$/gm, '')
    .replace(/`[^`\n]*`/g, (code) => code.slice(1, -1));
}

/** Targets of the links in the prose. */
export function links(markdown: string): string[] {
  return [...prose(markdown).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);
}

/** Anchors of the headings, as GitHub makes them. */
export function anchors(markdown: string): string[] {
  return [...prose(markdown).matchAll(/^#+ +(.+)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Parts of a page under its headings of one level. */
export function sections(markdown: string, level: number): Map<string, string> {
  const mark = '#'.repeat(level);
  const [, ...parts] = `\n${markdown}`.split(new RegExp(`^${mark} +(?=\\S)`, 'm'));
  return new Map(
    parts.map((part) => {
      const end = part.indexOf('\n');
      return [part.slice(0, end).trim(), part.slice(end + 1)] as const;
    }),
  );
}

/** Cells of the first table under a text, without its head. Backticks are kept. */
export function tableRows(markdown: string): string[][] {
  const lines = markdown.split('\n');
  const rule = lines.findIndex((line) => /^\|( *:?-+:? *\|)+$/.test(line));
  if (rule === -1) return [];
  const rest = lines.slice(rule + 1);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  return rest.slice(0, end === -1 ? undefined : end).map((line) =>
    line
      .slice(1, line.lastIndexOf('|'))
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );
}

/** The text of a cell that is one piece of code. */
export function bare(cell: string): string {
  return /^`([^`]*)`$/.exec(cell)?.[1] ?? cell;
}
