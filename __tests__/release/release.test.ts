/** `.ci/release` in a git repository of its own: what it refuses, and what it leaves to a person. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tempFolder } from '../cli/narwhal';

const SCRIPT = resolve(__dirname, '../../.ci/release');
const CHANGELOG = `# Changelog

## [Unreleased]

## [1.2.3] - 2026-01-31

### Added

- A thing.
`;

/** A project that is ready to be released. */
class Project {
  readonly folder = tempFolder();

  constructor() {
    mkdirSync(join(this.folder, '.ci'));
    copyFileSync(SCRIPT, join(this.folder, '.ci/release'));
    this.write('.gitignore', '*.tgz\n');
    this.write('CHANGELOG.md', CHANGELOG);
    this.write('index.js', '');
    this.manifest({ check: 'echo CHECKED' });
    this.git('init', '--quiet', '--initial-branch', 'main');
    this.commit();
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  manifest(scripts: Readonly<Record<string, string>>): void {
    const manifest = { name: 'thing', version: '1.2.3', files: ['index.js'], scripts };
    this.write('package.json', JSON.stringify(manifest));
  }

  git(...args: readonly string[]): void {
    const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'tag.gpgSign=false'];
    const { status, stderr } = spawnSync('git', [...who, ...args], { cwd: this.folder, encoding: 'utf8' });
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  }

  commit(): void {
    this.git('add', '--all');
    this.git('-c', 'commit.gpgSign=false', 'commit', '--quiet', '--message', 'x');
  }

  release(...args: readonly string[]): { code: number | null; stdout: string; stderr: string } {
    const { status, stdout, stderr } = spawnSync('bash', [join(this.folder, '.ci/release'), ...args], {
      cwd: this.folder,
      encoding: 'utf8',
    });
    return { code: status, stdout, stderr };
  }

  get files(): string[] {
    return readdirSync(this.folder);
  }
}

const REFUSALS: readonly [string, (project: Project) => void, RegExp][] = [
  [
    'a changed file',
    (p) => p.write('index.js', '1'),
    /^release: the working tree has changes:\n M index\.js/,
  ],
  ['a new file', (p) => p.write('new.js', ''), /the working tree has changes:\n\?\? new\.js/],
  ['another branch', (p) => p.git('checkout', '--quiet', '-b', 'work'), /made on main; this is work/],
  ['no branch', (p) => p.git('checkout', '--quiet', '--detach'), /made on main; this is no branch/],
  ['a version that is tagged', (p) => p.git('tag', 'v1.2.3'), /the tag v1\.2\.3 is there already/],
  ['no section', (p) => change(p, '1.2.3', '1x2.3'), /no line '## \[1\.2\.3\] - <date>'/],
  ['a section without a date', (p) => change(p, ' - 2026-01-31', ''), /no line '## \[1\.2\.3\] - <date>'/],
  ['an empty section', (p) => change(p, '- A thing.', ''), /says nothing of 1\.2\.3/],
  [
    'unreleased lines',
    (p) => change(p, '[Unreleased]', '[Unreleased]\n\n### Fixed\n\n- More.'),
    /has lines under Unreleased/,
  ],
];

function change(project: Project, from: string, to: string): void {
  project.write('CHANGELOG.md', CHANGELOG.replace(from, to));
  project.commit();
}

describe('.ci/release', () => {
  test.each(REFUSALS)('refuses %s, before any check is run', (_name, spoil, message) => {
    const project = new Project();
    spoil(project);
    const { code, stdout, stderr } = project.release();
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(stdout).not.toContain('CHECKED');
    expect(project.files).not.toContain('thing-1.2.3.tgz');
  });

  test('stops at a check that fails', () => {
    const project = new Project();
    project.manifest({ check: 'exit 1' });
    project.commit();
    const { code, stdout } = project.release();
    expect(code).toBe(1);
    expect(stdout).not.toContain('What is left to you');
    expect(project.files).not.toContain('thing-1.2.3.tgz');
  });

  test('runs the checks, packs, lists what is in it and prints the commands that are left', () => {
    const project = new Project();
    const { code, stdout } = project.release();
    expect(code).toBe(0);
    expect(stdout).toContain('CHECKED');
    expect(stdout).toMatch(/thing-1\.2\.3\.tgz holds:\n {2}index\.js\n {2}package\.json\n/);
    expect(stdout).toMatch(/git tag -a v1\.2\.3 .*\n +npm publish thing-1\.2\.3\.tgz\n$/);
    expect(project.files).toContain('thing-1.2.3.tgz');
  });

  test('is ready without a section Unreleased, too', () => {
    const project = new Project();
    change(project, '## [Unreleased]\n', '');
    expect(project.release().code).toBe(0);
  });

  test('with --dry-run says what it would stop at, runs no check and leaves nothing behind', () => {
    const project = new Project();
    project.git('checkout', '--quiet', '-b', 'work');
    project.write('new.js', '');
    const before = project.files;
    const { code, stdout } = project.release('--dry-run');
    expect(code).toBe(0);
    expect(stdout.match(/^a release would stop here: /gm)).toHaveLength(2);
    expect(stdout).not.toContain('CHECKED');
    expect(stdout).toContain('thing-1.2.3.tgz holds:');
    expect(project.files).toEqual(before);
  });

  test('knows no other argument', () => {
    expect(new Project().release('--dryrun')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('unknown argument --dryrun') as string,
    });
  });
});
