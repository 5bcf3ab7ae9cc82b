import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@herald/dev/harness/eventually";
import { askForPrometheus } from "@herald/dev/harness/stack-client";
import { freePort } from "@herald/dev/stack/ports";
import { startProcess } from "@herald/dev/stack/processes";
import { projectFile, RULES_FILE } from "./project-files.ts";

/** A minute of the rules takes a second here: less, and a busy machine scrapes too seldom for the shortest range. */
const SHORTER = 60;
const MS_PER_UNIT = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * The repository's rules with every duration divided by {@link SHORTER}: each `for:`, and each range of a query (`[5m]`).
 * Nothing else is changed: not the queries, the thresholds, the labels, the annotations.
 */
export function shortened(rules: string): string {
  const shorter = (count: string, unit: string) =>
    `${(Number(count) * MS_PER_UNIT[unit as keyof typeof MS_PER_UNIT]) / SHORTER}ms`;
  return rules
    .replace(/^( +for: )(\d+)([smhd])$/gm, (_, key: string, count: string, unit: string) => key + shorter(count, unit))
    .replace(/\[(\d+)([smhd])\]/g, (_, count: string, unit: string) => `[${shorter(count, unit)}]`);
}

export interface FiringAlert {
  labels: Record<string, string>;
  annotations: { summary: string; runbook_url: string };
}

export interface Prometheus {
  /** Scrapes these and no others from now on. */
  scrape(targets: readonly string[]): void;
  /** The alerts of that name that fire now. */
  firing(alert: string): Promise<FiringAlert[]>;
  /** How many series the query finds now. */
  count(query: string): Promise<number>;
  stop(): Promise<void>;
}

/** A real Prometheus with the repository's rules, in a folder of its own. */
export async function startPrometheus(folder: string): Promise<Prometheus> {
  const { prometheus } = await askForPrometheus();
  mkdirSync(folder, { recursive: true });
  const file = (name: string) => join(folder, name);
  writeFileSync(file("rules.yml"), shortened(projectFile(RULES_FILE)));
  scrape([]);
  writeFileSync(
    file("prometheus.yml"),
    JSON.stringify({
      global: { scrape_interval: "500ms", scrape_timeout: "500ms", evaluation_interval: "500ms" },
      rule_files: ["rules.yml"],
      scrape_configs: [{ job_name: "herald", file_sd_configs: [{ files: ["targets.json"], refresh_interval: "1s" }] }],
    }),
  );
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = await startProcess({
    name: "prometheus",
    command: prometheus,
    args: [
      `--config.file=${file("prometheus.yml")}`,
      `--storage.tsdb.path=${file("data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
  });

  /** Sets the targets, which Prometheus knows a moment later; by a file that is there whole or not at all. */
  function scrape(targets: readonly string[]): void {
    writeFileSync(file("targets.new"), JSON.stringify([{ targets }]));
    renameSync(file("targets.new"), file("targets.json"));
  }

  async function get<T>(path: string): Promise<T> {
    const response = await fetch(url + path, { headers: { connection: "close" }, signal: AbortSignal.timeout(5_000) });
    if (!response.ok) throw new Error(`Prometheus answered ${response.status} to ${path}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  try {
    await eventually(
      async () => {
        const { ok } = await fetch(`${url}/-/ready`, { headers: { connection: "close" } });
        if (!ok) throw new Error(`Prometheus is not ready:\n${child.lastLines().join("\n")}`);
      },
      { timeoutMs: 30_000 },
    );
  } catch (error) {
    await child.stop(0);
    throw error;
  }
  return {
    scrape,
    async firing(alert) {
      type Alerts = { data: { alerts: (FiringAlert & { state: string })[] } };
      const { data } = await get<Alerts>("/api/v1/alerts");
      return data.alerts.filter(({ labels, state }) => labels.alertname === alert && state === "firing");
    },
    async count(query) {
      const { data } = await get<{ data: { result: unknown[] } }>(`/api/v1/query?query=${encodeURIComponent(query)}`);
      return data.result.length;
    },
    stop: () => child.stop(),
  };
}
