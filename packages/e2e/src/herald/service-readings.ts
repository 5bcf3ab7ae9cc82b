import type { ServiceProcess } from "./processes.ts";

/** What a service's /metrics says at a moment. */
export interface Reading {
  cpuSeconds: number;
  residentMebibytes: number;
  /** A counter's value, over all its labels or those that `labels` names, such as `result="sent"`. */
  counter(name: string, labels?: string): number;
}

export async function readService(service: ServiceProcess): Promise<Reading> {
  const text = await (await fetch(`${service.operationsUrl}/metrics`)).text();
  const counter = (name: string, labels = "") =>
    text
      .split("\n")
      .filter((line) => (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && line.includes(labels))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  return {
    cpuSeconds: counter("process_cpu_seconds_total"),
    residentMebibytes: counter("process_resident_memory_bytes") / 1024 / 1024,
    counter,
  };
}
