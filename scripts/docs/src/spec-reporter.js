// @ts-check
import { readFileSync } from "node:fs";

/**
 * A reporter for jest that holds the titles of passed tests against the rules of docs/spec.md. It is plain JavaScript, since
 * jest loads it without a build.
 *
 * It judges whole runs only: `pnpm test` (unit and service tests) and `pnpm test:system`. A run with a filter prints nothing.
 *
 * @typedef {{ id: string, tier: "test" | "system" }} Rule
 * @typedef {{ testPathPatterns?: { patterns: string[] }, testNamePattern?: string, onlyChanged?: boolean,
 *   onlyFailures?: boolean, findRelatedTests?: boolean, shard?: unknown }} Filters of jest's global configuration
 * @typedef {{ ancestorTitles: string[], title: string, status: string }} Result a test's, as jest reports it
 */
const SPEC = new URL("../../../docs/spec.md", import.meta.url);

/** The tiers of whole runs, by the names of the jest projects that take part. */
const WHOLE_RUNS = /** @type {const} */ ({ "service,unit": "test", system: "system" });

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
    const tier = WHOLE_RUNS[/** @type {keyof typeof WHOLE_RUNS} */ (projects.join())];
    if (!tier || run.wasInterrupted || isFiltered(this.globalConfig)) return;
    const rules = rulesOf(readFileSync(SPEC, "utf8"));
    const faults = specFaults(
      rules,
      tier,
      run.testResults.flatMap(({ testResults }) => testResults),
    );
    if (faults.length > 0) this.error = new Error(`docs/spec.md and the tests disagree:\n${faults.join("\n")}`);
    const count = rules.filter((rule) => rule.tier === tier).length;
    process.stderr.write(
      this.error ? `\n${this.error.message}\n` : `\nA passed test shows each of ${count} rules of docs/spec.md.\n`,
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
 * @returns {Rule[]}
 */
export function rulesOf(text) {
  return [...text.matchAll(/^- \*\*(\S+)\*\*( \(system\))?/gm)].map(([, id = "", system]) => ({
    id,
    tier: system ? "system" : "test",
  }));
}

/**
 * What is wrong, each in a sentence that says what to do.
 *
 * @param {Rule[]} rules
 * @param {Rule["tier"]} tier the tier that ran
 * @param {Result[]} results
 * @returns {string[]}
 */
export function specFaults(rules, tier, results) {
  const ids = new Set(rules.map(({ id }) => id));
  /** A title may name a whole section: "3.1" where there is a rule "3.1/pause", "4" where there is "4.3.1". */
  const isSection = (/** @type {string} */ name) =>
    rules.some(({ id }) => id.startsWith(`${name}/`) || id.startsWith(`${name}.`));
  const shown = new Set();
  const faults = new Set();
  for (const { ancestorTitles, title, status } of results) {
    for (const name of [...ancestorTitles, title].flatMap(namesIn)) {
      if (!ids.has(name) && !isSection(name))
        faults.add(`"${title}" names §${name}, which docs/spec.md does not have.`);
      else if (status === "passed") shown.add(name);
    }
  }
  for (const rule of rules) {
    if (rule.tier === tier && !shown.has(rule.id))
      faults.add(`No passed test shows ${rule.id}: begin a title with "§${rule.id} ".`);
  }
  return [...faults];
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
