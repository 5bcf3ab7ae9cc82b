import { describe, expect, test } from "@jest/globals";
import type { Finding } from "../finding.ts";
import { clockFinding } from "./clocks.ts";
import { connectionsFinding } from "./connections.ts";
import { defaultsFinding } from "./defaults.ts";
import { durabilityFinding } from "./durability.ts";
import { keyRingFinding } from "./key-ring.ts";
import { ownerFunctionsFindings } from "./owner-functions.ts";
import { partitionsFinding } from "./partitions.ts";
import { poolerFinding } from "./pooler.ts";
import { refusalFinding } from "./refusal.ts";
import { rightsFindings } from "./rights.ts";
import { schemaFinding } from "./schema.ts";
import { versionFinding } from "./version.ts";
import { writableFinding } from "./writable.ts";

/** The status, and both sentences as one text. */
function say({ status, what, remedy }: Finding): string {
  return `${status}: ${what} ${remedy ?? ""}`;
}

test.each([
  [{ number: 140_012, text: "14.12" }, /^fault: It is PostgreSQL 14\.12; Herald needs 15 or newer\. Upgrade/],
  [{ number: 150_000, text: "15.0" }, /^ok/],
  [{ number: 180_004, text: "18.4" }, /^ok: PostgreSQL 18\.4/],
  [{ number: 190_000, text: "19.0" }, /^warning: .*tried up to 18/],
])("of PostgreSQL %j the doctor says %s", (version, words) => {
  expect(say(versionFinding(version))).toMatch(words);
});

test("a database that takes no writes, or not every text, is a fault", () => {
  const right = { inRecovery: false, readOnly: false, encoding: "UTF8" };
  expect(writableFinding(right).status).toBe("ok");
  expect(say(writableFinding({ ...right, inRecovery: true }))).toMatch(/^fault: It is a standby.*at the primary/);
  expect(say(writableFinding({ ...right, readOnly: true }))).toMatch(/^fault: .*read-only.*Reset it/);
  expect(say(writableFinding({ ...right, encoding: "LATIN1" }))).toMatch(/^fault: Its encoding is LATIN1.*UTF8/);
});

test("each setting by which PostgreSQL does not wait for its disk is a fault", () => {
  const right = { fsync: "on", full_page_writes: "on", synchronous_commit: "on" };
  expect(durabilityFinding({ ...right, synchronous_commit: "remote_write" }).status).toBe("ok");
  for (const name of Object.keys(right)) {
    expect(say(durabilityFinding({ ...right, [name]: "off" }))).toMatch(
      new RegExp(`^fault: ${name} is off.*Set ${name} to on`),
    );
  }
  expect(say(durabilityFinding({ ...right, fsync: "off", full_page_writes: "off" }))).toContain(
    "fsync and full_page_writes are off",
  );
});

test.each([
  [0, /^ok/],
  [999, /^ok/],
  [-1_000, /^ok: This machine's clock is 1 s behind PostgreSQL's, which Herald goes by\./],
  [59_000, /^ok: .*59 s ahead of/],
  [90_000, /^warning: .*90 s ahead of PostgreSQL's, which Herald goes by\. Logs bear .*time server/],
])("of clocks that are %d ms apart the doctor says %s", (aheadMs, words) => {
  expect(say(clockFinding(aheadMs))).toMatch(words);
});

describe("connections", () => {
  const limits = { server: 97, others: 3, role: -1, database: -1 };
  const six = { poolSize: 10, processes: 6 };

  test("are enough where each process can have its pool and one more", () => {
    expect(say(connectionsFinding(limits, six))).toMatch(/^ok: .*may open 68 connections; 94 are free/);
    expect(connectionsFinding({ ...limits, others: 29 }, six).status).toBe("ok");
    expect(connectionsFinding({ ...limits, others: 30 }, six).status).toBe("fault");
  });

  test.each([
    [{ others: 60 }, "the server leaves 37", "Raise max_connections"],
    [{ role: 20 }, "this user's limit leaves 20", "Raise the user's connection limit"],
    [{ database: 5 }, "the database's limit leaves 5", "Raise the database's connection limit"],
    [{ others: 400 }, "the server leaves 0", "lower DATABASE_POOL_SIZE"],
  ])("are a fault with %j, by the tightest limit", (change, what, remedy) => {
    const finding = connectionsFinding({ ...limits, ...change }, six);
    expect(finding).toMatchObject({
      status: "fault",
      what: expect.stringContaining(what),
      remedy: expect.stringContaining(remedy),
    });
  });
});

describe("the schema", () => {
  const migrations = [
    { name: "1_init", checksum: "a" },
    { name: "2_more", checksum: "b" },
  ];
  const applied = migrations.map((migration) => ({ ...migration, finished: true }));

  test("is right with all migrations, and with newer ones", () => {
    expect(say(schemaFinding(migrations, applied))).toMatch(/^ok: Up to date\./);
    const newer = [...applied, { name: "3_new", checksum: "c", finished: true }];
    expect(say(schemaFinding(migrations, newer))).toMatch(/^ok: .*1 migration newer/);
  });

  test("is a fault without a migration, with half of one, and with another text of one", () => {
    expect(say(schemaFinding(migrations, []))).toMatch(
      /^fault: 2 of 2 migrations missing: 1_init, 2_more.*herald migrate/,
    );
    expect(say(schemaFinding(migrations, applied.slice(0, 1)))).toMatch(/missing: 2_more/);
    const cutOff = [{ name: "1_init", checksum: "a", finished: false }];
    expect(say(schemaFinding(migrations, cutOff))).toMatch(/^fault: Migration 1_init failed.*Run herald migrate/);
    const changed = applied.map((migration) => ({ ...migration, checksum: "b" }));
    expect(say(schemaFinding(migrations, changed))).toMatch(/^fault: Migration 1_init was applied with another text/);
  });
});

test.each([
  [[], /^ok: None yet/],
  [["20261121", "20261122"], /^fault: No day ahead.*make_partitions/],
  [["20261122", "20261123"], /^warning: Only 1 day ahead has/],
  [["20261123", "20261124", "20261125"], /^warning: Only 3 days ahead have/],
  [["20261123", "20261124", "20261125", "20261126"], /^ok: 4 days ahead/],
])("of the partitions %j the doctor says %s", (days, words) => {
  expect(say(partitionsFinding(days, new Date("2026-11-22T23:59:59Z")))).toMatch(words);
});

test("a signing secret that can't be opened is a fault, with the count and the reason", () => {
  const none = { all: 0, unreadable: 0, older: 0, reason: "" };
  expect(keyRingFinding(none).status).toBe("ok");
  expect(say(keyRingFinding({ ...none, all: 7, older: 2 }))).toMatch(
    /^ok: 7 signing secrets open, 2 of them by an older key/,
  );
  expect(say(keyRingFinding({ all: 7, unreadable: 3, older: 3, reason: 'Sealed with key "k0"' }))).toMatch(
    /^fault: 3 of 7 signing secrets can't be opened.*Sealed with key "k0".*Put the missing key back/,
  );
});

test.each([
  ["none", true, /^ok/],
  ["sessions", true, /^ok: A pooler of sessions/],
  ["transactions", true, /^ok: A pooler of transactions/],
  ["transactions", false, /^fault: .*loses prepared statements.*pgbouncer=true.*max_prepared_statements/],
  ["statements", true, /^fault: .*pool_mode = transaction/],
] as const)("of a pooler of %s (keeps prepared statements: %p) the doctor says %s", (pooling, keeps, words) => {
  expect(say(poolerFinding(pooling, keeps))).toMatch(words);
});

test("a database that does not give sessions what statements are made for is a warning that names it", () => {
  const wanted = { random_page_cost: "1.1", statement_timeout: "30000" };
  const found = (cost: string, timeout: string) => [
    { name: "statement_timeout", setting: timeout },
    { name: "random_page_cost", setting: cost },
  ];
  expect(defaultsFinding(wanted, found("1.1", "30000")).status).toBe("ok");
  expect(say(defaultsFinding(wanted, found("4", "30000")))).toMatch(
    /^warning: random_page_cost is 4 and not 1\.1: .*herald migrate with the services'.* as the owner/,
  );
  expect(say(defaultsFinding(wanted, found("4", "0")))).toMatch(/, statement_timeout is 0 and not 30000: /);
});

describe("a user", () => {
  const user = { user: "herald_app", usesSchema: true, isSuperuser: false, ownsTables: false, seesOthers: true };
  const judge = (change: Partial<typeof user>, missing: string[] = [], service?: "publisher" | "dispatcher") =>
    rightsFindings({ ...user, ...change }, missing, service)
      .map(say)
      .join("\n");

  test("with the rights of the services, and no more, is right", () => {
    expect(judge({})).toMatch(/^ok: herald_app may do what the services need\. $/);
    expect(judge({ seesOthers: false }, [], "dispatcher")).toMatch(/^ok/);
  });

  test("without one of them is a fault that names it and the grant", () => {
    expect(judge({ usesSchema: false })).toMatch(/^fault: .*schema public.*grant usage on schema public to herald_app/);
    expect(judge({}, ["select on due"])).toMatch(/^fault: herald_app lacks: select on due\. Run herald migrate/);
    expect(judge({}, ["select on due"], "publisher")).toMatch(/grant herald_publisher to herald_app$/);
    expect(judge({}, ["a", "b", "c", "d", "e", "f", "g"])).toContain("a; b; c; d; e, and 2 more.");
  });

  test("with more than it needs, or without a view of others, is a warning", () => {
    expect(judge({ isSuperuser: true })).toMatch(/^warning: herald_app is a superuser.*users of deploy/);
    expect(judge({ ownsTables: true })).toMatch(/^warning: herald_app owns the tables/);
    expect(judge({ seesOthers: false })).toMatch(/^warning: .*grant pg_read_all_stats to herald_app/);
  });
});

test("a function by which its callers become its owner is a fault, and temporary tables for everybody a warning", () => {
  const judge = (open: string[], temporaryForAll: boolean) =>
    ownerFunctionsFindings({ database: "herald", open, temporaryForAll }).map(say);
  expect(judge([], false)).toEqual([expect.stringMatching(/^ok/)]);
  expect(judge(["f(date)", "g()"], true)).toEqual([
    expect.stringMatching(
      /^fault: Who may call f\(date\), g\(\) can become its owner.*alter function f\(date\) set search_path/,
    ),
    expect.stringMatching(/^warning: .*revoke temporary on database "herald" from public/),
  ]);
});

test.each([
  [{ code: "ECONNREFUSED" }, "Nothing listens at db:5432", "correct host and port in DATABASE_URL"],
  [{ code: "ENOTFOUND" }, "is not known here", "DATABASE_URL"],
  [{ code: "EHOSTUNREACH" }, "can't be reached", "firewall"],
  [{ message: "timeout expired" }, "does not answer", "network policy"],
  [
    { code: "28P01", message: "password authentication failed" },
    "refuses this user",
    "user and password in DATABASE_URL",
  ],
  [{ code: "28000", message: "no pg_hba.conf entry for host, no encryption" }, "asks for TLS", "DATABASE_CA_FILE"],
  [{ code: "28000", message: "no pg_hba.conf entry for host" }, "refuses this user", "pg_hba.conf"],
  [{ code: "3D000", message: 'database "x" does not exist' }, 'database "x" does not exist', "Create the database"],
  [{ code: "53300", message: "too many connections" }, "no connection left", "max_connections"],
  [{ code: "08P01", message: "unsupported startup parameter: options" }, "A pooler", "Remove it from DATABASE_URL"],
  [{ code: "CERT_HAS_EXPIRED", message: "certificate has expired" }, "has expired", "Renew it"],
  [{ code: "XX000", message: "strange" }, "strange", "server's log"],
])("a refusal by PostgreSQL is explained: %j", (error, what, remedy) => {
  const finding = refusalFinding(Object.assign(new Error(), error), "db:5432");
  expect(finding).toMatchObject({
    status: "fault",
    what: expect.stringContaining(what),
    remedy: expect.stringContaining(remedy),
  });
});
