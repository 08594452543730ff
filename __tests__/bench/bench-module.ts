/** The bench is ES modules, which tests compiled to CommonJS cannot load: they run in a process of their own. */
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

/**
 * Evaluates an expression with the exports of a module of `bench/` in scope.
 * @returns its value, by way of JSON
 */
export function evaluate<T>(module: string, expression: string): T {
  const script = `
    const exported = await import('./bench/${module}');
    const run = new Function(...Object.keys(exported), ${JSON.stringify(`return (${expression})`)});
    process.stdout.write(JSON.stringify(run(...Object.values(exported))));
  `;
  const args = ['--input-type=module', '-e', script];
  return JSON.parse(
    execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }),
  ) as T;
}

/** Runs a script of `bench/` to its end. */
export function runBench(script: string, args: readonly string[]) {
  const all = [join('bench', script), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, all, { cwd: ROOT, encoding: 'utf8' });
  return { status, stdout, stderr };
}
