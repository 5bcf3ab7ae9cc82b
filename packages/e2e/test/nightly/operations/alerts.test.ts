import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { askForPrometheus, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";
import { createMetrics } from "@herald/dispatcher";
import { expect, test } from "@jest/globals";
import {
  anchorOf,
  dashboardQueries,
  documentedMetrics,
  projectFile,
  RULES_FILE,
  rules,
  unknownIn,
} from "./project-files.ts";

const known = documentedMetrics();
const kept = (expr: string) => [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = ""]) => labels.split(", "));
const ofRecordings = new Set(
  rules().flatMap(({ record, labels = {}, expr }) => (record ? [...Object.keys(labels), ...kept(expr)] : [])),
);
for (const { record } of rules()) if (record) known.set(record, ofRecordings);

test.each(dashboardQueries())("the dashboard's $panel asks for what is exported: $expr", ({ expr }) => {
  expect(unknownIn(expr, known)).toEqual([]);
});

test.each(rules().map(({ record, alert, expr }) => ({ name: record ?? alert, expr })))(
  "the rule $name asks for what is exported",
  ({ expr }) => {
    expect(unknownIn(expr, known)).toEqual([]);
  },
);

test("the dashboard shows every metric", () => {
  const shown = [...dashboardQueries(), ...rules()].map(({ expr }) => expr).join("\n");
  const notShown = [...known.keys()]
    .map((name) => name.replace(/_(bucket|sum|count)$/, ""))
    .filter((name) => name.startsWith("herald_") && !shown.includes(name));
  expect([...new Set(notShown)]).toEqual([]);
});

test("the dashboard's queries are of the namespace that is chosen", () => {
  for (const { expr } of dashboardQueries()) {
    for (const [, selector = ""] of expr.matchAll(/\b(?:herald[_:]|process_)[\w:]+(\{[^}]*\})?/g)) {
      expect([expr, selector]).toEqual([expr, expect.stringContaining('namespace=~"$namespace"')]);
    }
  }
});

test("the numbers of what Herald waits for are exported", () => {
  const [, list = ""] = /^## What Herald waits for\n(.*?)^## /ms.exec(projectFile("docs/reliability.md")) ?? [];
  const names = [...list.matchAll(/`(herald_\w+)`/g)].map(([, name = ""]) => name);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => !known.has(name) && !known.has(`${name}_count`))).toEqual([]);
});

test("the alerts and recordings are each of one Herald: a namespace and a job", () => {
  for (const { expr } of rules()) {
    expect([expr, /(by|on) \(namespace, job[,)]|herald:\w+:\w+/.test(expr)]).toEqual([expr, true]);
  }
});

test("no rule repeats an aggregation over time of another one: it has a recording", () => {
  const aggregations = /\b(?:sum|group|max|min) by \([\w, ]+\) \(\w+\((?:\w+)(?:\{[^}]*\})?\[\w+\]\)\)/g;
  const written = rules().flatMap(({ expr }) => expr.match(aggregations) ?? []);
  expect(written.length).toBeGreaterThan(5);
  expect(written.filter((each, index) => written.indexOf(each) !== index)).toEqual([]);
});

test("the tests of the rules feed the buckets that dispatchers export", async () => {
  const registry = createRegistry("dispatcher");
  createMetrics(registry);
  const fed = [...projectFile("deploy/prometheus/rules.test.yml").matchAll(/'(herald_\w+)_bucket\{le="([\d.]+)"/g)];
  expect(fed.length).toBeGreaterThan(0);
  for (const [, name = "", bound] of fed) {
    const histogram = registry.getSingleMetric(name) as unknown as { upperBounds: number[] };
    expect([name, histogram.upperBounds]).toEqual([name, expect.arrayContaining([Number(bound)])]);
  }
});

test("each bound that a rule asks for is one of its histogram", () => {
  const registry = createRegistry("dispatcher");
  createMetrics(registry);
  const asked = rules().flatMap(({ expr }) => [...expr.matchAll(/(herald_\w+)_bucket\{le=~"([\d.]+)\|\2\.0"/g)]);
  expect(asked.length).toBeGreaterThan(0);
  for (const [, histogram = "", bound] of asked) {
    const { upperBounds } = registry.getSingleMetric(histogram) as unknown as { upperBounds: number[] };
    expect(upperBounds).toContain(Number(bound));
  }
});

test("a query for what is not exported is found", () => {
  expect(unknownIn("sum(rate(herald_nothing_total[5m]))", known)).toEqual(["herald_nothing_total"]);
  expect(unknownIn('max(herald_queue_messages{row="inbox"})', known)).toEqual(["row"]);
});

test("there are at most 18 alerts: each is a symptom, which a person on call can tell from the others", () => {
  expect(rules().filter(({ alert }) => alert).length).toBeLessThanOrEqual(18);
});

test("no document names an alert that there is not", () => {
  const pages = readdirSync(join(projectFolder(), "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`);
  for (const page of ["CONTRIBUTING.md", ...pages]) {
    const named = [...projectFile(page).matchAll(/`(Herald[A-Z]\w+)`/g)].map(([, name]) => name);
    expect([page, named.filter((name) => rules().every(({ alert }) => alert !== name))]).toEqual([page, []]);
  }
});

const runbook = projectFile("docs/operating/runbook.md");
const anchors = [...runbook.matchAll(/^## (.*)$/gm)].map(([, title = ""]) => anchorOf(title));

test.each(rules().filter(({ alert }) => alert))("$alert leads to a page of the runbook that names it", (rule) => {
  const [file, anchor = ""] = (rule.annotations?.runbook_url ?? "").split("#");
  expect(file).toBe("docs/operating/runbook.md");
  expect(anchors).toContain(anchor);
  expect(runbook).toContain(`\`${rule.alert}\``);
  expect(rule.labels?.severity).toMatch(/^(page|warn)$/);
  expect(projectFile("deploy/prometheus/rules.test.yml")).toContain(`alertname: ${rule.alert}`);
});

test.each([
  ["the rules fire when rules.test.yml says (promtool)", ["test", "rules", "rules.test.yml"]],
  [
    "promtool finds nothing wrong with the rules",
    ["check", "rules", "--lint-fatal", join(projectFolder(), RULES_FILE)],
  ],
])(
  "%s",
  async (_, args) => {
    const { promtool } = await askForPrometheus();
    const cwd = join(projectFolder(), "deploy", "prometheus");
    const { status, stdout, stderr } = spawnSync(promtool, args, { cwd, encoding: "utf8" });
    expect([status, `${stdout}${stderr}`]).toEqual([0, expect.any(String)]);
  },
  STACK_TIMEOUT_MS,
);
