import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import type { ServiceName } from "@herald/e2e/herald/processes";
import { parse } from "yaml";

/** The chart's names of the services. */
const IN_CHART = { "management-api": "managementApi", publisher: "publisher", dispatcher: "dispatcher" } as const;
const MEBIBYTES: Readonly<Record<string, number>> = { Mi: 1, Gi: 1_024 };

type ChartValues = Record<(typeof IN_CHART)[ServiceName], { resources: { limits: { memory: string } } }>;

/** The memory that the chart gives a service, in MiB. */
export function chartLimitMebibytes(service: ServiceName): number {
  const text = readFileSync(join(projectFolder(), "deploy", "helm", "herald", "values.yaml"), "utf8");
  const { memory } = (parse(text) as ChartValues)[IN_CHART[service]].resources.limits;
  const [, count, unit = ""] = /^(\d+)(Mi|Gi)$/.exec(memory) ?? [];
  const mebibytes = Number(count) * (MEBIBYTES[unit] ?? Number.NaN);
  if (Number.isNaN(mebibytes))
    throw new Error(`The chart gives ${service} a memory of ${memory}, which is not understood.`);
  return mebibytes;
}

/** Gives a process the heap that V8 takes by itself in a container of the chart's limit: half of it. */
export function chartHeapArgs(service: ServiceName): string[] {
  return [`--max-old-space-size=${chartLimitMebibytes(service) / 2}`];
}
