/** The page as one document: its parts put together, and the policy under which a browser runs it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The same folder stands beside the built file. */
const ASSETS = join(__dirname, 'assets');

/** In the order in which they need each other. */
const SCRIPTS = ['words.js', 'reasons.js', 'dom.js', 'chart.js', 'tables.js', 'show.js', 'page.js'];

const STYLES = ['page.css', 'charts.css', 'tables.css'];

/** A document and its content security policy. */
export interface PageDocument {
  readonly html: string;
  readonly policy: string;
}

/**
 * Reads the parts. Nothing in them depends on a request or on the gateway: the document holds no data.
 *
 * @throws where a part is missing: the package was built without them.
 */
export function pageDocument(): PageDocument {
  const style = STYLES.map(part).join('');
  const scripts = SCRIPTS.map(part);
  const html = part('page.html')
    .replace('<!-- style -->', () => `<style>${style}</style>`)
    .replace('<!-- scripts -->', () => scripts.map((text) => `<script>${text}</script>`).join('\n'));
  const policy = [
    "default-src 'none'",
    `style-src ${hash(style)}`,
    `script-src ${scripts.map(hash).join(' ')}`,
    "connect-src 'self'",
    // The icon of the tab stands in the document.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { html, policy };
}

function part(name: string): string {
  return readFileSync(join(ASSETS, name), 'utf8');
}

function hash(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
