import { join } from "node:path";
import { eventually } from "@herald/dev/harness/eventually";
import { loggingChild, program } from "@herald/dev/harness/logging-child";
import { useOwnPostgres } from "@herald/dev/harness/own-postgres";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { serviceEnvironment } from "@herald/dev/harness/use-broker";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";

const postgres = useOwnPostgres();

/** A process with three tasks, each of which logs an error each time it fails, as publishers have. */
const TASKS = `
import { serviceSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import { repeat } from "@herald/common/runtime/repeat";
import { openProcess } from "@herald/common/service/open-process";
const config = readConfig(serviceSettings);
const { open } = await openProcess(["publisher"], config);
const { database, log, operationsPort } = await open("publisher", config, { facts: {} });
log.info("opened", { operationsPort });
for (const task of ["catch-ups", "resends", "notices"]) {
  const onFailure = (error) => log.error(task + " can't be taken; they are tried again", { error });
  repeat(() => database.queries.$queryRaw\`select 1\`, { intervalMs: 500, onFailure });
}
`;

test(
  "regression: while PostgreSQL refuses new connections and answers over an old one, the outage has two lines",
  async () => {
    const environment = serviceEnvironment(postgres.url(), { url: "amqp://127.0.0.1:1", namespace: "herald" });
    const { lines, get, kill } = loggingChild(program(TASKS), {
      cwd: join(projectFolder(), "packages/common"),
      env: { ...environment, LOG_LEVEL: "info" },
    });
    try {
      const ofPostgres = () =>
        lines()
          .filter(({ message, level }) => /^PostgreSQL/.test(String(message)) || level === "error")
          .map(({ message }) => message);
      const failingSeconds = async () =>
        Number(/^herald_database_failing_seconds\S* (\S+)$/m.exec(await get("/metrics"))?.[1]);
      await eventually(async () => expect(await failingSeconds()).toBe(0));
      // The connection of the pings stays.
      await postgres.run("alter role herald_app connection limit 1");
      await eventually(async () => {
        await postgres.run(
          "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'herald_app' and query = 'select 1'",
        );
        expect(await failingSeconds()).toBeGreaterThan(4);
      });
      const down = "PostgreSQL: down; trying again until it is back";
      expect(ofPostgres()).toEqual([down]);
      expect(lines()).toContainEqual(
        expect.objectContaining({
          message: down,
          reason: expect.stringMatching(/has no connection left.*Raise max_connections/),
        }),
      );
      await postgres.run("alter role herald_app connection limit -1");
      await eventually(() => expect(ofPostgres()).toEqual([down, "PostgreSQL: back"]));
    } finally {
      kill();
    }
  },
  STACK_TIMEOUT_MS,
);
