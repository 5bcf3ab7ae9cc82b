import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeAuthority } from "@herald/dev/certificates/authority";
import { askForMariadbPrograms, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { type Mariadb, startMariadb } from "@herald/dev/stack/mariadb";
import { outboxTable } from "@herald/emitter/outbox";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createConnection } from "mysql2/promise";
import { callHerald } from "./run-herald.ts";

// A server of its own: it speaks TLS, with a certificate of an authority that no machine knows.
const databaseFolder = mkdtempSync(join(tmpdir(), "herald-relay-mariadb-"));
const folder = mkdtempSync(join(tmpdir(), "herald-relay-"));
const ownCa = join(folder, "own.pem");
const otherCa = join(folder, "other.pem");
let mariadb: Mariadb;

beforeAll(async () => {
  const authority = await makeAuthority("The company's own");
  writeFileSync(ownCa, authority.cert);
  writeFileSync(otherCa, (await makeAuthority("Another one")).cert);
  const tls = await authority.issue({ names: ["localhost"] });
  mariadb = await startMariadb(await askForMariadbPrograms(), {
    folder: databaseFolder,
    pidFolder: join(folder, "pids"),
    tls,
  });
  const connection = await createConnection(mariadb.url);
  await connection.query(outboxTable("herald_outbox", "mysql"));
  // Who comes without TLS is not let in.
  await connection.query("create user relay@'%' identified by 'of-a-test' require ssl");
  await connection.query("grant select, update, delete on herald.herald_outbox to relay@'%'");
  await connection.end();
}, STACK_TIMEOUT_MS);

afterAll(async () => {
  await mariadb?.remove();
  rmSync(folder, { recursive: true, force: true });
}, STACK_TIMEOUT_MS);

/** What `herald relay replay` says on an outbox behind a URL with these parameters. */
function replay(parameters: string, scheme = "mysql") {
  const { port } = new URL(mariadb.url);
  return callHerald(["relay", "replay", "--since", "2026-01-31T12:00:00Z"], {
    HERALD_ENV: "development",
    OUTBOX_DATABASE_URL: `${scheme}://relay:of-a-test@localhost:${port}/herald${parameters}`,
  });
}

test("a replay needs no more rights than the page on emitting says, and speaks TLS with an authority of one's own", async () => {
  for (const scheme of ["mysql", "mariadb"]) {
    const answer = await replay(`?sslmode=verify-full&sslrootcert=${ownCa}`, scheme);
    expect(answer).toMatchObject({ code: 0, stdout: "0 events wait again in herald_outbox.\n", stderr: "" });
  }
});

test("without TLS the server refuses the relay, which says where", async () => {
  const { code, stderr } = await replay("");
  expect(code).toBe(1);
  expect(stderr).toMatch(/MySQL at localhost:\d+ can't be used: Access denied/);
  expect(stderr).not.toContain("of-a-test");
});

test("a certificate of an authority that is not trusted ends the connection", async () => {
  for (const parameters of ["?sslmode=verify-full", `?sslmode=verify-full&sslrootcert=${otherCa}`]) {
    const { code, stderr } = await replay(parameters);
    expect(code).toBe(1);
    expect(stderr).toMatch(/MySQL at localhost:\d+ can't be used: .*certificate/);
  }
});

test.each([
  ["?sslmode=prefer", "sslmode=verify-full, or nothing"],
  ["?sslrootcert=/ca.pem", "sslmode=verify-full, or nothing"],
  ["?sslmode=verify-full&sslrootcert=/nowhere.pem", "sslrootcert) names a file that can't be read"],
  ["?multipleStatements=true", "OUTBOX_DATABASE_URL says multipleStatements"],
])("a URL with %s is refused", async (parameters, words) => {
  const { code, stderr } = await replay(parameters);
  expect({ code, stderr }).toEqual({ code: 78, stderr: expect.stringContaining(words) });
});

test("a URL of another database is refused, and not shown", async () => {
  const { code, stderr } = await replay("", "sqlserver");
  expect({ code, stderr }).toEqual({ code: 78, stderr: expect.stringContaining("mysql:// for MySQL and MariaDB") });
  expect(stderr).not.toContain("of-a-test");
});
