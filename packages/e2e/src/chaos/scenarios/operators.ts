import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { migrate } from "@herald/common/database/migrate";
import { migrationsFolder } from "@herald/common/database/migrations";
import { withClient } from "@herald/dev/stack/postgres";
import { startServers, USUAL_TIMES } from "../environment/servers.ts";
import type { SupervisedService } from "../environment/supervisor.ts";
import type { Load } from "../load.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { longestPauseAfter, noticed } from "../verdict/reconcile.ts";
import { inEnvironment, type Scenario } from "./scenario.ts";

/** Between two works, for the load to go on. */
const SETTLE_MS = 2_000;
/** Longer than a dispatcher keeps a name server's answers, and than an attempt may take: some end with it, and some after it. */
const NAMES_STALL_MS = 20_000;
const MORE_DISPATCHERS = 7;

/**
 * Works of operators on a Herald under load, and faults beside them: the next release's migrations while services run, a restart in the
 * worst order, dispatchers from two to nine to one, RabbitMQ started again, a name server that stands still, and all work done by
 * `herald serve` for a while. No receiver may notice: every delivery comes once, and no attempt fails.
 */
export const operatorsScenario: Scenario = (options) =>
  inEnvironment(options, { startServers, times: USUAL_TIMES }, async (environment, run) => {
    const { pause, progress } = options;
    const { servers, services, nameServer } = environment;
    const called = (...names: string[]) =>
      [...services.values()].filter(({ label }) => names.some((name) => label.startsWith(name)));
    const restart = async (service: SupervisedService) => {
      await service.restart(0);
      await service.ready();
    };

    const works: Record<string, (load: Load) => Promise<unknown>> = {
      "the next release's migrations, twice at once": () =>
        migrateToNextRelease(environment.folder, servers.databaseUrl().href),
      "a restart in the worst order": async () => {
        // All of what attempts at once, then what stores, while the others are not there yet.
        await Promise.all(called("dispatcher", "publisher-1").map(restart));
        await Promise.all(called("publisher-2", "management-api-1").map(restart));
        await restart(called("management-api-2")[0] as SupervisedService);
      },
      "seven dispatchers more, and then but one": async () => {
        const [kept, given] = called("dispatcher") as [SupervisedService, SupervisedService];
        const more = await Promise.all(
          Array.from({ length: MORE_DISPATCHERS }, () => environment.startBeside("dispatcher")),
        );
        await pause(SETTLE_MS);
        await Promise.all([...more.map((service) => service.stop()), given.hold()]);
        await pause(SETTLE_MS);
        await given.resume();
        await Promise.all([given.ready(), kept.ready()]);
      },
      "RabbitMQ started again": async () => {
        await servers.killRabbitmq(0);
        await Promise.all([...services.values()].map((service) => service.ready()));
      },
      "a name server that stands still": async (load) => {
        nameServer.answerWith("silence");
        await load.forgetConnections(() => pause(NAMES_STALL_MS));
        nameServer.answerWith(["127.0.0.1"]);
      },
      "herald serve in place of publishers and dispatchers": async () => {
        const serve = await environment.startBeside("serve");
        const apart = called("publisher", "dispatcher");
        await Promise.all(apart.map((service) => service.hold()));
        await pause(2 * SETTLE_MS);
        await Promise.all(apart.map((service) => service.resume()));
        await Promise.all(apart.map((service) => service.ready()));
        await serve.stop();
      },
    };

    async function disturb(load: Load): Promise<InjectedFault[]> {
      const done: InjectedFault[] = [];
      for (const [kind, work] of Object.entries(works)) {
        await pause(SETTLE_MS);
        progress(`Operators: ${kind}`);
        const from = Date.now();
        await work(load);
        done.push({ kind, target: "herald", from, until: Date.now() });
      }
      return done;
    }

    const result = await run({ disturb });
    const { requests, faults } = result.history;
    const arrivals = requests.map(({ at }) => at);
    const pauses = faults.map(({ kind, from, until }) => [kind, longestPauseAfter(arrivals, from, until)] as const);
    const complaints = noticed(result.verdict, { mayRepeat: false });
    const extra = Object.fromEntries(pauses.map(([kind, ms]) => [`longest pause, ms: ${kind}`, ms]));
    return { ...result, extra, complaints };
  });

/** How often the migration waits for a table's lock in vain, before the backup ends. */
const STEPS_BACK = 3;

/**
 * Adds to each table, to an enum and to the indexes what these processes do not know, as the next release's migrations may, beside a transaction
 * that has every table locked as a backup has. The processes that start afterwards are of the release before, as after a roll back.
 */
async function migrateToNextRelease(parent: string, connectionString: string): Promise<void> {
  const folder = join(parent, "next-release");
  await cp(migrationsFolder(), folder, { recursive: true });
  await withClient(connectionString, async (backup) => {
    const { rows } = await backup.query<{ name: string }>(
      `select relname as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> '_prisma_migrations'`,
    );
    const tables = rows.map(({ name }) => name);
    const files = [
      ...tables.map((name) => `alter table ${name} add column next_release text not null default ''`),
      "alter type notice_type add value 'next_release'",
      "-- herald: no transaction\ncreate index concurrently on webhook_endpoint (name)",
    ];
    for (const [index, sql] of files.entries()) {
      const file = join(folder, `2999_${String(index).padStart(2, "0")}`);
      await mkdir(file);
      await writeFile(join(file, "migration.sql"), sql);
    }
    await backup.query(`begin; lock table ${tables.join(", ")} in access share mode`);
    let waits = 0;
    const onProgress = (text: string) => {
      if (text.startsWith("waiting for a lock") && ++waits === STEPS_BACK) void backup.query("commit");
    };
    const options = { folder, statementTimeoutMs: USUAL_TIMES.databaseTimeoutMs, onProgress };
    await Promise.all([migrate(connectionString, options), migrate(connectionString, options)]);
  });
}
