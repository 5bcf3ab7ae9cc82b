import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@herald/common/database/migrate";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { useOwnPostgres } from "@herald/dev/harness/own-postgres";
import { askForPgbouncer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { type PgbouncerOptions, startPgbouncer } from "@herald/dev/stack/pgbouncer";
import { beforeAll, expect, test } from "@jest/globals";
import type { NamedFinding } from "../../src/doctor/finding.ts";
import { callHerald } from "../run-herald.ts";

/** What a URL ends with whose clients prepare no statement. */
const UNPREPARED = "?pgbouncer=true";

const postgres = useOwnPostgres();
let program = "";

beforeAll(async () => {
  program = (await askForPgbouncer()).executable;
}, STACK_TIMEOUT_MS);

/** What the doctor says of a database behind a PgBouncer, by the names of the checks. */
async function findingsBehind(poolMode: PgbouncerOptions["poolMode"], query = ""): Promise<Map<string, NamedFinding>> {
  const folder = mkdtempSync(join(tmpdir(), "herald-pooler-"));
  const pgbouncer = await startPgbouncer(program, { folder, databaseUrl: postgres.url(), poolMode });
  try {
    const { stdout } = await callHerald(["doctor", "--json"], {
      DATABASE_URL: pgbouncer.url + query,
      AMQP_URL: "amqp://127.0.0.1:1",
      ...newSealingKeys("k1"),
    });
    const { findings } = JSON.parse(stdout) as { findings: NamedFinding[] };
    return new Map(findings.map((finding) => [finding.check, finding]));
  } finally {
    await pgbouncer.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As the owner of the tables, and what that leaves as the owner of the database. */
async function migrateFor(query: string): Promise<void> {
  const { leftToOwner = [] } = await migrate(postgres.url("herald_owner") + query);
  for (const statement of leftToOwner) await postgres.run(statement);
}

/** The checks that run statements, over a session of the doctor's own and, the last one, over a service's connection. */
function expectWorking(findings: Map<string, NamedFinding>): void {
  for (const check of ["pooler", "sessions' settings", "connections", "clocks", "schema", "partitions", "key ring"]) {
    expect([check, findings.get(check)?.status]).toEqual([check, "ok"]);
  }
}

test("the doctor sees a pooler of sessions, and that Herald can work behind it", async () => {
  const findings = await findingsBehind("session");
  expect(findings.get("pooler")?.what).toMatch(/pooler of sessions/);
  expectWorking(findings);
});

test("the doctor finds that a pooler of transactions loses prepared statements", async () => {
  expect((await findingsBehind("transaction")).get("pooler")).toMatchObject({
    status: "fault",
    what: expect.stringMatching(/pooler of transactions.*loses prepared statements/),
    remedy: expect.stringMatching(/pgbouncer=true.*max_prepared_statements/),
  });
});

test("where no statement is prepared a pooler of transactions is right, once the database was migrated for it", async () => {
  const before = await findingsBehind("transaction", UNPREPARED);
  expect(before.get("pooler")).toMatchObject({ status: "ok", what: expect.stringMatching(/pooler of transactions/) });
  expect(before.get("sessions' settings")).toMatchObject({
    status: "warning",
    what: expect.stringMatching(/plan_cache_mode is force_generic_plan and not auto/),
    remedy: expect.stringMatching(/herald migrate/),
  });
  await migrateFor(UNPREPARED);
  try {
    expectWorking(await findingsBehind("transaction", UNPREPARED));
  } finally {
    await migrateFor("");
  }
});

test("the doctor finds a pooler of statements", async () => {
  expect((await findingsBehind("statement")).get("pooler")).toMatchObject({
    status: "fault",
    remedy: expect.stringMatching(/pool_mode = transaction/),
  });
});
