import { withClient } from "@herald/dev/stack/postgres";
import { readService } from "../../herald/readings.ts";
import type { ChaosEnvironment } from "../environment/open-environment.ts";
import { startServers, USUAL_TIMES } from "../environment/servers.ts";
import { planSteadyTenants } from "../plan/tenants.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { courseOf, noticed } from "../verdict/unnoticed.ts";
import type { Scenario } from "./scenario.ts";
import { inEnvironment } from "./scenario.ts";

const LOOK_EVERY_MS = 2_000;
/** Of the quarters that are compared each needs some samples. */
const FEWEST_SAMPLES = 8;

/** What must not grow while the load doesn't, and by how much it may all the same: see `courseOf`. */
const TOLERANCES = {
  "resident MiB": 8,
  "heap MiB": 16,
  handles: 10,
  "open files and sockets": 10,
  "connections to PostgreSQL": 3,
  "unfinished deliveries": 500,
  "age of the oldest due delivery, ms": 500,
} as const;

/**
 * An even load and no fault. Nothing may fail or come twice, and nothing may grow with the time: memory, handles and files of each process,
 * connections, and what waits. Processes warm up for minutes, so this says something of a run of twenty: `--seconds 1200`.
 */
export const flatScenario: Scenario = (options) =>
  inEnvironment(options, { startServers, times: USUAL_TIMES }, async (environment, run) => {
    const { seed, seconds, pause } = options;
    const samples: Record<string, number>[] = [];

    async function disturb(): Promise<InjectedFault[]> {
      const until = Date.now() + seconds * 1_000;
      while (Date.now() < until || samples.length < FEWEST_SAMPLES) {
        await pause(LOOK_EVERY_MS);
        samples.push(await sample(environment));
      }
      return [];
    }

    const result = await run({ tenants: planSteadyTenants(seed), outages: [], pauses: [], disturb });
    const complaints = noticed(result.verdict, { mayRepeat: false });
    const extra: Record<string, string> = {};
    for (const name of Object.keys(samples[0] ?? {})) {
      const [, tolerance = 0] = Object.entries(TOLERANCES).find(([figure]) => name.endsWith(figure)) ?? [];
      const { quarters, highest, flat } = courseOf(
        samples.map((each) => each[name] ?? Number.NaN),
        tolerance,
      );
      extra[name] = `${quarters.map((value) => value.toFixed()).join(", ")}; at the most ${highest.toFixed()}`;
      if (!flat) complaints.push(`${name} grew: ${extra[name]}`);
    }
    return { ...result, extra, complaints };
  });

/** What each process and the database say just now. */
async function sample({ services, servers }: ChaosEnvironment): Promise<Record<string, number>> {
  const taken: Record<string, number> = {};
  const take = (figure: keyof typeof TOLERANCES, value: number, of = "") => {
    taken[`${of}${figure}`] = value;
  };
  for (const [label, service] of services) {
    const { residentMebibytes, counter } = await readService(service.current());
    take("resident MiB", residentMebibytes, `${label}, `);
    take("heap MiB", counter("nodejs_heap_size_used_bytes") / 1024 / 1024, `${label}, `);
    take("handles", counter("nodejs_active_handles_total"), `${label}, `);
    take("open files and sockets", counter("process_open_fds"), `${label}, `);
  }
  const { rows } = await withClient(servers.databaseUrl().href, (client) =>
    client.query<{ connections: number; unfinished: number; oldestMs: number }>(`
      select
        (select count(*)::int from pg_stat_activity
          where datname = current_database() and application_name like 'herald-%') as connections,
        count(*)::int as unfinished,
        greatest(0, coalesce(extract(epoch from now() - min(due_at)) * 1000, 0))::float8 as "oldestMs"
      from due`),
  );
  const [row] = rows;
  if (!row) throw new Error("PostgreSQL answered an aggregate with no row.");
  take("connections to PostgreSQL", row.connections);
  take("unfinished deliveries", row.unfinished);
  take("age of the oldest due delivery, ms", row.oldestMs);
  return taken;
}
