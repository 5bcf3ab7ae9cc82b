import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { parse } from "yaml";
import type { ServiceProcess } from "./processes.ts";

/** Figures of a service's /metrics at a moment. */
export interface Reading {
  cpuSeconds: number;
  residentMebibytes: number;
  /** Deliveries that publishers handed over to it so far, some of them twice. */
  handedOver: number;
  /** Deliveries that it has read from PostgreSQL. */
  readDeliveries: number;
}

export async function readService(service: ServiceProcess): Promise<Reading> {
  const text = await (await fetch(`${service.operationsUrl}/metrics`)).text();
  const sumOf = (name: string) =>
    text
      .split("\n")
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  return {
    cpuSeconds: sumOf("process_cpu_seconds_total"),
    residentMebibytes: sumOf("process_resident_memory_bytes") / 1024 / 1024,
    handedOver: sumOf("herald_deliveries_handed_over_total"),
    readDeliveries: sumOf("herald_read_batch_deliveries_sum"),
  };
}

/** The most memory that `herald serve` may take in a small installation, in MiB. A test holds it to this, and the documents promise it. */
export const SERVE_MEBIBYTES = 200;

/** The memory of a service's container in the chart, in MiB. */
export function chartLimit(service: "managementApi" | "publisher" | "dispatcher"): number {
  const values = parse(readFileSync(join(projectFolder(), "deploy", "helm", "herald", "values.yaml"), "utf8"));
  const [, size, unit] = /^(\d+)(Mi|Gi)$/.exec(values[service].resources.limits.memory) ?? [];
  return Number(size) * (unit === "Gi" ? 1_024 : 1);
}

/** The most resident memory that a process has had since its start, or since it was reset, in MiB. */
export function peakOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
}
