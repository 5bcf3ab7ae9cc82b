import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { parse } from "yaml";

export function projectFile(name: string): string {
  return readFileSync(join(projectFolder(), name), "utf8");
}

/** The chart reads files of its own folder only, so these are there, and nowhere else. */
export const RULES_FILE = "deploy/helm/herald/files/rules.yml";
export const DASHBOARD_FILE = "deploy/helm/herald/files/dashboard.json";

export interface Rule {
  record?: string;
  alert?: string;
  expr: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export function rules(): Rule[] {
  const { groups } = parse(projectFile(RULES_FILE)) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}

/** Every query of the dashboard, by its panel's title. */
export function dashboardQueries(): { panel: string; expr: string }[] {
  const { panels } = JSON.parse(projectFile(DASHBOARD_FILE)) as {
    panels: { title: string; targets?: { expr: string }[] }[];
  };
  // A row has none.
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ panel: title, expr })));
}

/** Herald's metrics in docs/operating/metrics.md, which running services are held to, with their labels. */
export function documentedMetrics(): Map<string, Set<string>> {
  const metrics = new Map<string, Set<string>>();
  const row = /^\| `(herald_\w+)` \| (\w+) \| ([^|]*) \|/gm;
  for (const [, name = "", type, labels = ""] of projectFile("docs/operating/metrics.md").matchAll(row)) {
    const own = new Set(["service", ...[...labels.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label)]);
    if (type !== "histogram") metrics.set(name, own);
    else for (const part of ["bucket", "sum", "count"]) metrics.set(`${name}_${part}`, new Set([...own, "le"]));
  }
  return metrics;
}

/** The label that tells several Heralds of one Prometheus apart; Prometheus adds it. */
const OF_ONE_HERALD = "namespace";

/** Metrics, and labels in selectors, that a query names and that do not exist. */
export function unknownIn(expr: string, known: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const unknown: string[] = [];
  for (const [, name = "", selector = ""] of expr.matchAll(/\b(herald[_:][\w:]+)(?:\{([^}]*)\})?/g)) {
    const labels = known.get(name);
    if (!labels) unknown.push(name);
    else {
      const named = [...selector.matchAll(/(\w+)\s*[=!]/g)].map(([, label = ""]) => label);
      unknown.push(...named.filter((label) => !labels.has(label) && label !== OF_ONE_HERALD));
    }
  }
  return unknown;
}

/** Commands of a page of the runbook. */
interface Step {
  /** The cause that these commands are for, if a page has several; empty for all of them. */
  causes: string[];
  commands: string;
}

/**
 * The commands of the page that an alert links to, in its order: blocks of ```sh that name no cause, and those that name
 * this one (```sh cause=broker-away).
 *
 * @param link the alert's `runbook_url`
 * @throws if there is no such page, or nothing on it is for this cause
 */
export function stepsOf(link: string, cause: string): string[] {
  const [file = "", anchor = ""] = link.split("#");
  const pages = projectFile(file).split(/^## /m).slice(1);
  const page = pages.find((text) => anchorOf(text.slice(0, text.indexOf("\n"))) === anchor);
  if (page === undefined) throw new Error(`${file} has no page #${anchor}.`);
  const steps = [...page.matchAll(/^( *)```sh([^\n]*)\n([\s\S]*?)^ *```$/gm)].map(
    ([, , info = "", commands = ""]): Step => ({
      causes: [...info.matchAll(/\bcause=([\w,-]+)/g)].flatMap(([, names = ""]) => names.split(",")),
      commands,
    }),
  );
  if (!steps.some(({ causes }) => causes.includes(cause))) {
    throw new Error(`Nothing on ${link} is for ${cause}: a block that mends it says \`\`\`sh cause=${cause}.`);
  }
  return steps.filter(({ causes }) => causes.length === 0 || causes.includes(cause)).map(({ commands }) => commands);
}

/** As Markdown renderers make it of a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .replaceAll(" ", "-");
}

export const SYSTEMD_FOLDER = "deploy/systemd";

/** The settings of Herald's unit, as systemd reads its file. */
export function unitEnvironment(): Record<string, string> {
  const lines = projectFile(`${SYSTEMD_FOLDER}/all.env`).split("\n");
  const pairs = lines.filter((line) => line !== "" && !line.startsWith("#")).map((line) => line.split(/=(.*)/s));
  return Object.fromEntries(pairs.map(([name = "", value = ""]) => [name, value]));
}

/** The words of a unit's one command. */
export function unitCommand(unit: string): string[] {
  const [, command = ""] = /^ExecStart=(.*)$/m.exec(projectFile(`${SYSTEMD_FOLDER}/${unit}`)) ?? [];
  return command.split(" ");
}
