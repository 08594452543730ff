/** One line for each check, and how many of them there were. */
const START = performance.now();

export class Report {
  checks = 0;
  failures = 0;

  /**
   * @param {string} host where it was checked.
   * @param {string} what what should be so.
   * @param {string | null} [problem] what was expected and what came instead; null or nothing is good.
   */
  add(host, what, problem = null) {
    this.checks++;
    if (problem !== null) this.failures++;
    console.log(`${problem === null ? 'ok    ' : 'FAILED'} ${host.padEnd(26)} ${what}`);
    if (problem !== null) console.log(problem.trimEnd().replace(/^/gm, '         '));
  }

  summary() {
    const seconds = ((performance.now() - START) / 1000).toFixed(0);
    const { checks, failures } = this;
    return failures === 0
      ? `all ${checks} checks passed in ${seconds} s`
      : `${failures} of ${checks} checks failed`;
  }
}
