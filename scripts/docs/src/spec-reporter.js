// @ts-check
import { readFileSync } from "node:fs";

/**
 * A reporter for jest that holds the titles of passed tests against the rules of docs/spec.md. It is plain JavaScript, since
 * jest loads it without a build.
 *
 * It judges whole runs of `pnpm test` only: unit and service tests show every rule. A run with a filter prints nothing.
 *
 * @typedef {{ testPathPatterns?: { patterns: string[] }, testNamePattern?: string, onlyChanged?: boolean,
 *   onlyFailures?: boolean, findRelatedTests?: boolean, shard?: unknown }} Filters of jest's global configuration
 * @typedef {{ ancestorTitles: string[], title: string, status: string }} Result a test's, as jest reports it
 */
const SPEC = new URL("../../../docs/spec.md", import.meta.url);

/** The names of the jest projects of `pnpm test`. */
const TIERS = "service,unit";

export default class SpecReporter {
  /** @param {Filters} globalConfig */
  constructor(globalConfig) {
    this.globalConfig = globalConfig;
  }

  /**
   * @param {Set<{ config: { displayName?: { name: string } } }>} contexts
   * @param {{ wasInterrupted: boolean, testResults: { testResults: Result[] }[] }} run
   */
  onRunComplete(contexts, run) {
    const projects = [...contexts].map(({ config }) => config.displayName?.name ?? "").sort();
    if (projects.join() !== TIERS || run.wasInterrupted || isFiltered(this.globalConfig)) return;
    const rules = rulesOf(readFileSync(SPEC, "utf8"));
    const faults = specFaults(
      rules,
      run.testResults.flatMap(({ testResults }) => testResults),
    );
    if (faults.length > 0) this.error = new Error(`docs/spec.md and the tests disagree:\n${faults.join("\n")}`);
    process.stderr.write(
      this.error
        ? `\n${this.error.message}\n`
        : `\nA passed test shows each of ${rules.length} rules of docs/spec.md.\n`,
    );
  }

  /** Jest calls this when the run is over, and fails the run where there is an error. */
  getLastError() {
    return this.error;
  }
}

/** @param {Filters} config */
function isFiltered(config) {
  const { testPathPatterns, testNamePattern, onlyChanged, onlyFailures, findRelatedTests, shard } = config;
  return Boolean(
    testPathPatterns?.patterns.length || testNamePattern || onlyChanged || onlyFailures || findRelatedTests || shard,
  );
}

/**
 * @param {string} text of docs/spec.md
 * @returns {string[]} the ids of its rules
 */
export function rulesOf(text) {
  return [...text.matchAll(/^- \*\*(\S+)\*\*/gm)].map(([, id = ""]) => id);
}

/**
 * The faults, each in a sentence that says what to do.
 *
 * @param {string[]} rules
 * @param {Result[]} results
 * @returns {string[]}
 */
export function specFaults(rules, results) {
  const titles = results.map((each) => ({ ...each, titles: [...each.ancestorTitles, each.title] }));
  const passed = titles.filter(({ status }) => status === "passed");
  const shown = new Set(passed.flatMap((each) => each.titles.flatMap(namesIn)));
  return [
    ...unknownNames(
      rules,
      titles.flatMap((each) => each.titles),
    ),
    ...rules.filter((id) => !shown.has(id)).map((id) => `No passed test shows ${id}: begin a title with "§${id} ".`),
  ];
}

/**
 * A title may name a rule, or a whole section: "3.1" where there is a rule "3.1/pause", "4" where there is "4.3.1".
 *
 * @param {string[]} rules
 * @param {string[]} titles
 * @returns {string[]} what is wrong, each in a sentence
 */
export function unknownNames(rules, titles) {
  const isKnown = (/** @type {string} */ name) =>
    rules.some((id) => id === name || id.startsWith(`${name}/`) || id.startsWith(`${name}.`));
  const faults = titles.flatMap((title) =>
    namesIn(title)
      .filter((name) => !isKnown(name))
      .map((name) => `"${title}" names §${name}, which docs/spec.md does not have.`),
  );
  return [...new Set(faults)];
}

/**
 * The titles of a test file, found without running it.
 *
 * @param {string} source
 * @returns {string[]}
 */
export function titlesIn(source) {
  return [...source.matchAll(/(["'`])(\u00a7.*?)\1/g)].map(([, , title = ""]) => title);
}

/**
 * The ids at the beginning of a title: `§5.2 §5.3 who may ...` names 5.2 and 5.3.
 *
 * @param {string} title
 */
function namesIn(title) {
  const words = title.split(" ");
  const end = words.findIndex((word) => !word.startsWith("§"));
  return words.slice(0, end === -1 ? words.length : end).map((word) => word.slice(1));
}
