import { join } from "node:path";
import { migrate } from "@herald/common/database/migrate";
import { projectFolder } from "@herald/dev/stack/folders";
import { runProgram } from "@herald/dev/stack/programs";
import type { ChaosEnvironment } from "../environment/open-environment.ts";
import { startServers, USUAL_TIMES } from "../environment/servers.ts";
import type { History, InjectedFault } from "../verdict/history.ts";
import { inEnvironment, type Scenario } from "./scenario.ts";

/** Between two looks whether the events that come again are stored. */
const LOOK_EVERY_MS = 500;
/** Then attempts begin, whatever the inbox holds: what is stored later is only delivered later. */
const STORED_WITHIN_MS = 120_000;

/** Runs `herald dispatch` of this checkout, as an operator does. */
function heraldDispatch({ servers, namespace }: ChaosEnvironment, ...args: string[]): Promise<string> {
  const main = join(projectFolder(), "packages", "cli", "dist", "main.js");
  return runProgram(process.execPath, [main, "dispatch", ...args], {
    what: `herald dispatch ${args.join(" ")}`,
    env: {
      PATH: process.env.PATH,
      HERALD_ENV: "development",
      DATABASE_URL: servers.databaseUrl().href,
      AMQP_URL: servers.amqpUrls()[0]?.href,
      BROKER_NAMESPACE: namespace,
    },
  });
}

/** As an operator sees that the gap is closed. */
async function untilStored(environment: ChaosEnvironment, pause: (durationMs: number) => Promise<void>): Promise<void> {
  const deadline = Date.now() + STORED_WITHIN_MS;
  for (;;) {
    const { inbox } = JSON.parse(await heraldDispatch(environment, "status", "--json")) as { inbox: number };
    if (inbox === 0 || Date.now() > deadline) return;
    await pause(LOOK_EVERY_MS);
  }
}

/**
 * A backup is restored: events come, the database is copied, more events come and are delivered, the database is put back to
 * the copy, and the product emits its events again, while dispatching is stopped (`herald dispatch stop`). What Herald had forgotten it
 * delivers again, under the same delivery ids: a receiver that dedupes by them has each event exactly once.
 */
export const restoreScenario: Scenario = (options) =>
  inEnvironment(options, { startServers, times: USUAL_TIMES }, async (environment, run) => {
    const { seconds, pause, progress } = options;
    const { servers } = environment;
    const services = [...environment.services.values()];
    const result = await run({
      // A manual payload is stored in the database alone: a restore loses one that is newer than the copy, and no emitter can send it again.
      manual: false,
      async disturb({ settle, emitAgain }) {
        await pause((seconds * 1_000) / 2);
        progress("Copying the database");
        const restored: InjectedFault = { kind: "database-restored", target: "postgres", from: Date.now(), until: 0 };
        const copied = { ...restored, kind: "database-copied" };
        await servers.copyDatabase();
        copied.until = Date.now();
        await pause((seconds * 1_000) / 2);
        await settle();
        progress("Putting the database back to its copy");
        restored.from = Date.now();
        const stopped = { ...restored, kind: "dispatch-stopped" };
        await Promise.all(services.map((service) => service.hold()));
        await servers.restoreDatabase();
        // As after every restore: a copy has its rows, and not the database's defaults.
        await migrate(servers.databaseUrl().href, { statementTimeoutMs: USUAL_TIMES.databaseTimeoutMs });
        await heraldDispatch(environment, "stop");
        await Promise.all(services.map((service) => service.resume()));
        await Promise.all(services.map((service) => service.ready()));
        progress("Emitting again what the database has forgotten");
        await emitAgain();
        restored.until = Date.now();
        await untilStored(environment, pause);
        stopped.until = Date.now();
        await heraldDispatch(environment, "start");
        return [copied, restored, stopped];
      },
    });
    return { ...result, ...judge(result.history) };
  });

/**
 * Receivers have to know all deliveries after the restore; nothing may come while dispatching is stopped; and something has to have
 * come afterwards, or nothing was shown.
 */
function judge({ requests, faults }: History) {
  const stopped = faults.find(({ kind }) => kind === "dispatch-stopped");
  const [restoredAt, startedAt] = [stopped?.from ?? 0, stopped?.until ?? 0];
  const before = new Set(requests.filter(({ at }) => at < restoredAt).map(({ deliveryId }) => deliveryId));
  const again = requests.filter(({ at }) => at >= restoredAt);
  const unknown = again.filter(({ deliveryId }) => !before.has(deliveryId)).length;
  const early = again.filter(({ at }) => at < startedAt).length;
  const complaints: string[] = [];
  if (again.length === 0) complaints.push("nothing was delivered again: the copy held everything");
  if (early > 0) complaints.push(`${early} requests came while dispatching was stopped`);
  if (unknown > 0)
    complaints.push(`${unknown} requests after the restore had delivery ids that their receivers do not know`);
  const extra = {
    "delivered again after the restore": again.length,
    "dispatching stopped, ms": startedAt - restoredAt,
  };
  return { extra, complaints };
}
