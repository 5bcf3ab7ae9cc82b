import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askForProgram, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { startPgbouncer } from "@herald/dev/stack/pgbouncer";
import { expect, test } from "@jest/globals";
import { startServiceProcess } from "../../../src/herald/processes.ts";
import { heraldSettings } from "../../../src/herald/settings.ts";

const db = useDatabase();
const broker = useBroker();

test(
  "Herald behind a pooler of transactions, which DATABASE_URL does not say, ends with the remedy",
  async () => {
    const { executable } = await askForProgram("pgbouncer");
    const folder = mkdtempSync(join(tmpdir(), "herald-forgotten-"));
    const pgbouncer = await startPgbouncer(executable, { folder, databaseUrl: db.url });
    try {
      const place = { databaseUrl: pgbouncer.url, amqpUrl: broker.url, namespace: broker.namespace, caFile: "" };
      const service = await startServiceProcess("serve", heraldSettings(place), { untilReady: false });
      await service.process.exited;
      expect(service.process.lastLines().join("\n")).toMatch(
        /serve (ends|can't start)\. The configuration has a problem:\n.*pooler of transactions.*Add pgbouncer=true/,
      );
    } finally {
      await pgbouncer.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  STACK_TIMEOUT_MS,
);
