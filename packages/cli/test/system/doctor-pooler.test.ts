import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askForPgbouncer, STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { type PgbouncerOptions, startPgbouncer } from "@herald/testkit/stack/pgbouncer";
import { beforeAll, expect, test } from "@jest/globals";
import type { NamedFinding } from "../../src/doctor/finding.ts";
import { useOwnPostgres } from "../doctor/own-postgres.ts";
import { callHerald } from "../run-herald.ts";

const postgres = useOwnPostgres();
let program = "";

beforeAll(async () => {
  program = (await askForPgbouncer()).executable;
}, STACK_TIMEOUT_MS);

/** What the doctor says of a database behind a PgBouncer, by the names of the checks. */
async function findingsBehind(poolMode: PgbouncerOptions["poolMode"]): Promise<Map<string, NamedFinding>> {
  const folder = mkdtempSync(join(tmpdir(), "herald-pooler-"));
  const pgbouncer = await startPgbouncer(program, {
    folder,
    databaseUrl: postgres.url(),
    poolMode,
    ignoredParameters: ["statement_timeout", "options"],
  });
  try {
    const { stdout } = await callHerald(["doctor", "--json"], {
      DATABASE_URL: pgbouncer.url,
      AMQP_URL: "amqp://127.0.0.1:1",
    });
    const { findings } = JSON.parse(stdout) as { findings: NamedFinding[] };
    return new Map(findings.map((finding) => [finding.check, finding]));
  } finally {
    await pgbouncer.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

test("the doctor sees a pooler of sessions, and that Herald can work behind it", async () => {
  const findings = await findingsBehind("session");
  expect(findings.get("pooler")).toMatchObject({ status: "ok", what: expect.stringMatching(/pooler of sessions/) });
  for (const check of ["connections", "clocks", "schema", "service's connection", "partitions"]) {
    expect([check, findings.get(check)?.status]).toEqual([check, "ok"]);
  }
});

test("the doctor finds that a pooler of transactions loses prepared statements", async () => {
  expect((await findingsBehind("transaction")).get("pooler")).toMatchObject({
    status: "fault",
    what: expect.stringMatching(/pooler of transactions.*loses prepared statements/),
    remedy: expect.stringMatching(/max_prepared_statements/),
  });
});

test("the doctor finds a pooler of statements", async () => {
  expect((await findingsBehind("statement")).get("pooler")).toMatchObject({
    status: "fault",
    remedy: expect.stringMatching(/pool_mode = transaction/),
  });
});
