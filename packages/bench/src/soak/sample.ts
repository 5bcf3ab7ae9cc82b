import type { PrismaClient } from "@herald/common/database/generated/client";
import type { ServiceName, ServiceProcess } from "@herald/e2e/herald/processes";
import { readService } from "../bench/service-readings.ts";

/** A figure that must not grow while the load doesn't. */
export interface SoakFigure {
  label: string;
  unit: "MiB" | "ms" | "";
  /** See `courseOf`. */
  tolerance: number;
}

const OF_A_SERVICE = {
  resident: { label: "resident memory", unit: "MiB", tolerance: 8 },
  heap: { label: "heap in use", unit: "MiB", tolerance: 16 },
  handles: { label: "handles", unit: "", tolerance: 10 },
  descriptors: { label: "open files and sockets", unit: "", tolerance: 10 },
} as const satisfies Record<string, SoakFigure>;

const OF_THE_WHOLE = {
  databaseConnections: { label: "connections to PostgreSQL", unit: "", tolerance: 3 },
  unfinished: { label: "unfinished deliveries when a window's last had arrived", unit: "", tolerance: 500 },
  oldestDueMs: { label: "the oldest due delivery's age then", unit: "ms", tolerance: 500 },
  p50: { label: "emitter to receiver, half within", unit: "ms", tolerance: 10 },
  p95: { label: "emitter to receiver, 95 % within", unit: "ms", tolerance: 30 },
} as const satisfies Record<string, SoakFigure>;

export function soakFigures(services: readonly ServiceName[]): Record<string, SoakFigure> {
  const ofServices = services.flatMap((service) =>
    Object.entries(OF_A_SERVICE).map(([name, figure]) => [
      `${service}.${name}`,
      { ...figure, label: `${service}, ${figure.label}` },
    ]),
  );
  return { ...Object.fromEntries(ofServices), ...OF_THE_WHOLE };
}

/** What each service says of itself just now, by the names of `soakFigures`. */
export async function sampleServices(
  services: ReadonlyMap<ServiceName, ServiceProcess>,
): Promise<Record<string, number>> {
  const sample: Record<string, number> = {};
  for (const [name, service] of services) {
    const { residentMebibytes, counter } = await readService(service);
    sample[`${name}.resident`] = residentMebibytes;
    sample[`${name}.heap`] = counter("nodejs_heap_size_used_bytes") / 1024 / 1024;
    sample[`${name}.handles`] = counter("nodejs_active_handles_total");
    sample[`${name}.descriptors`] = counter("process_open_fds");
  }
  return sample;
}

/** What the database knows just now. */
export async function sampleDatabase(prisma: PrismaClient): Promise<Record<string, number>> {
  const [row] = await prisma.$queryRaw<{ connections: number; unfinished: number; oldest: number }[]>`
    select
      (select count(*)::int from pg_stat_activity
        where datname = current_database() and application_name like 'herald-%') as connections,
      count(*)::int as unfinished,
      coalesce(extract(epoch from now() - min(due_at)) * 1000, 0)::float8 as oldest
    from due`;
  if (!row) throw new Error("PostgreSQL counted nothing.");
  return {
    databaseConnections: row.connections,
    unfinished: row.unfinished,
    oldestDueMs: Math.max(0, row.oldest),
  };
}
