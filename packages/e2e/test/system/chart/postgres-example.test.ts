import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@herald/common/database/migrate";
import { openSession } from "@herald/common/database/session";
import { STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { projectFolder } from "@herald/testkit/stack/folders";
import { type Postgres, startPostgres } from "@herald/testkit/stack/postgres";
import { removePostgresData } from "@herald/testkit/stack/postgres-programs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parse } from "yaml";

interface Cluster {
  spec: {
    bootstrap: { initdb: { owner: string; database: string; postInitApplicationSQL: string[] } };
    managed: { roles: { name: string; inRoles: string[] }[] };
  };
}

const file = join(projectFolder(), "deploy/helm/examples/postgres.yaml");
const { spec } = parse(readFileSync(file, "utf8")) as Cluster;
const folder = mkdtempSync(join(tmpdir(), "herald-example-"));
let server: Postgres;

beforeAll(async () => {
  server = await startPostgres({ folder, pidFolder: join(folder, "pids") });
}, STACK_TIMEOUT_MS);
afterAll(async () => {
  await server?.stop();
  removePostgresData(folder);
}, STACK_TIMEOUT_MS);

function urlOf(change: { username?: string; password?: string; pathname?: string }): string {
  return Object.assign(new URL(server.url), change).href;
}

async function run(url: string, statements: readonly string[]): Promise<void> {
  const session = await openSession(url, { applicationName: "herald-test" });
  try {
    for (const statement of statements) await session.query(statement);
  } finally {
    await session.close();
  }
}

test("the PostgreSQL example makes users with the rights that migration and services need, in the operator's order", async () => {
  const { initdb } = spec.bootstrap;
  const here = { pathname: "/application" };
  // The operator makes the owner and its database, runs this SQL as a superuser, and only then makes the managed roles.
  await run(server.url, [
    `create role ${initdb.owner} login password 'p'`,
    `create database application owner ${initdb.owner}`,
  ]);
  await run(urlOf(here), initdb.postInitApplicationSQL);
  for (const { name, inRoles } of spec.managed.roles) {
    const groups = inRoles.map((group) => `grant ${group} to ${name}`);
    await run(server.url, [`alter role ${name} login password 'p'`, ...groups]);
  }
  await migrate(urlOf({ ...here, username: initdb.owner, password: "p" }));

  const session = await openSession(urlOf({ ...here, username: "herald_app", password: "p" }), {
    applicationName: "herald-test",
  });
  try {
    await expect(session.query("create table mine (x int)")).rejects.toThrow("permission denied");
  } finally {
    await session.close();
  }
  // As the chart says it to the doctor: the password apart from the URL.
  const url = urlOf({ ...here, username: "herald_app", password: "" });
  expect(await complaintsOf({ DATABASE_URL: url, PGPASSWORD: "p", AMQP_URL: "amqp://herald:p@127.0.0.1:1" })).toEqual([
    "RabbitMQ",
  ]);
});

/** The checks of the doctor that complain. */
function complaintsOf(settings: Record<string, string>): Promise<string[]> {
  const main = join(projectFolder(), "packages/cli/dist/main.js");
  return new Promise((resolve) => {
    execFile(process.execPath, [main, "doctor", "--json"], { env: settings }, (_error, stdout) => {
      const { findings } = JSON.parse(stdout) as { findings: { check: string; status: string }[] };
      resolve(findings.filter(({ status }) => status === "fault" || status === "warning").map(({ check }) => check));
    });
  });
}
