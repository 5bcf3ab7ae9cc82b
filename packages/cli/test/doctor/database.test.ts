import { migrate } from "@herald/common/database/migrate";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox, secretSealer } from "@herald/common/security/secret-box";
import { expect, test } from "@jest/globals";
import { callHerald } from "../run-herald.ts";
import { only, useRightSetUp } from "./right-set-up.ts";

const { broker, postgres, caFile, sealingKeys, complaints } = useRightSetUp();

/** Changes the server for as long as the task takes. */
async function withSql<T>(change: string, undo: string, task: () => Promise<T>): Promise<T> {
  await postgres.run(change);
  try {
    return await task();
  } finally {
    await postgres.run(undo);
  }
}

test("the doctor finds that nothing listens there", async () => {
  const found = await complaints({ settings: { DATABASE_URL: "postgres://herald:do-not-show@127.0.0.1:1/herald" } });
  expect(found).toEqual(only("fault", "PostgreSQL", /Nothing listens at 127\.0\.0\.1:1/, /port in DATABASE_URL/));
});

test("the doctor finds a wrong password, and shows none", async () => {
  const url = postgres.url().replace("do-not-show", "do-not-show-either");
  const found = await complaints({ settings: { DATABASE_URL: url } });
  expect(found).toEqual(only("fault", "PostgreSQL", /refuses this user/, /user and password in DATABASE_URL/));
});

test("the doctor finds that the database does not exist", async () => {
  const found = await complaints({ settings: { DATABASE_URL: postgres.url("herald_app", "nowhere") } });
  expect(found).toEqual(only("fault", "PostgreSQL", /"nowhere" does not exist/, /Create the database/));
});

test("the doctor finds that the server has no TLS where DATABASE_CA_FILE asks for it", async () => {
  const found = await complaints({ settings: { DATABASE_CA_FILE: caFile } });
  expect(found).toEqual(only("fault", "PostgreSQL", /does not speak TLS/, /DATABASE_CA_FILE has to be absent/));
});

test("the doctor finds a database without a schema", async () => {
  await postgres.run("create database bare");
  await postgres.run("revoke temporary on database bare from public");
  const found = await complaints({ settings: { DATABASE_URL: postgres.url("herald_app", "bare") } });
  expect(found).toEqual(only("fault", "schema", /migration missing: \d+_init/, /herald migrate as the owner/));
});

test("the doctor finds a migration that was cut off", async () => {
  const set = (value: string) => `update _prisma_migrations set finished_at = ${value}`;
  const found = await withSql(set("null"), set("now()"), () => complaints());
  expect(found).toEqual(only("fault", "schema", /_init failed, or was cut off/, /Run herald migrate/));
});

test("the doctor finds a database in another encoding", async () => {
  await postgres.run("create database latin encoding 'LATIN1' locale 'C' template template0");
  const found = await complaints({ settings: { DATABASE_URL: postgres.url("herald_app", "latin") } });
  expect(found.slice(0, 1)).toEqual(only("fault", "database", /encoding is LATIN1/, /encoding UTF8/));
});

test("the doctor finds each right that the user lacks, with the grant", async () => {
  const onTable = await withSql("revoke delete on due from herald_app", "grant delete on due to herald_app", () =>
    complaints(),
  );
  expect(onTable).toEqual(only("fault", "user's rights", /herald_app lacks: delete on due\./, /Run herald migrate/));
  const onFunction = await withSql(
    "revoke execute on function make_partitions(date) from herald_app",
    "grant execute on function make_partitions(date) to herald_app",
    () => complaints(),
  );
  expect(onFunction).toEqual(
    only("fault", "user's rights", /execute on function make_partitions\(date\)/, /Run herald migrate/),
  );
  const onColumn = await withSql(
    "revoke update (due_at) on due from herald_dispatcher",
    "grant update (due_at) on due to herald_dispatcher",
    () =>
      complaints({
        settings: { DATABASE_URL: postgres.url("herald_dispatcher"), AMQP_URL: broker.serviceUrls.dispatcher },
        args: ["--service", "dispatcher"],
      }),
  );
  expect(onColumn).toEqual(only("fault", "user's rights", /update \(due_at\) on due/, /grant herald_dispatcher to/));
});

test("herald migrate gives a user back what it needs, and says whom it gave rights", async () => {
  await postgres.run("revoke delete on due from herald_app, herald_dispatcher");
  const { code, stdout } = await callHerald(["migrate"], { DATABASE_URL: postgres.url("herald_owner") });
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout:
      "The database is up to date.\nRights are given to herald_api, herald_app, herald_dispatcher, herald_publisher.\n",
  });
  expect(await complaints()).toEqual([]);
});

test("the doctor finds a function by which its callers could become the tables' owner", async () => {
  const set = (path: string) => `alter function make_partitions(date) set search_path = ${path}`;
  for (const path of ['"$user", public', "pg_temp, public", "''"]) {
    const found = await withSql(set(path), set("pg_catalog, public, pg_temp"), () => complaints());
    expect(found).toEqual(
      only("fault", "owner's functions", /call make_partitions\(date\) can become/, /set search_path = pg_catalog/),
    );
  }
});

test("the doctor warns where everybody may make temporary tables", async () => {
  const found = await withSql(
    "grant temporary on database herald to public",
    "revoke temporary on database herald from public",
    () => complaints(),
  );
  expect(found).toEqual(only("warning", "owner's functions", /temporary tables/, /revoke temporary on database/));
});

test("the doctor warns of a user who owns the tables", async () => {
  const found = await complaints({ settings: { DATABASE_URL: postgres.url("herald_owner") } });
  expect(found[0]).toMatchObject({
    status: "warning",
    check: "user's rights",
    what: expect.stringMatching(/owns the tables/),
  });
  expect(found.every(({ status }) => status === "warning")).toBe(true);
});

test("the doctor finds that the connections do not suffice", async () => {
  const limit = (count: number) => `alter role herald_app connection limit ${count}`;
  const found = await withSql(limit(20), limit(-1), () => complaints());
  expect(found).toEqual(only("fault", "connections", /user's limit leaves 20/, /Raise the user's connection limit/));
  const many = await complaints({ args: ["--processes", "100"] });
  expect(many).toEqual(only("fault", "connections", /100 processes.*the server leaves/, /max_connections/));
});

test("the doctor finds that commits do not wait for the disk", async () => {
  const found = await withSql(
    "alter role herald_app set synchronous_commit = off",
    "alter role herald_app reset synchronous_commit",
    () => complaints(),
  );
  expect(found).toEqual(only("fault", "durability", /synchronous_commit is off/, /Set synchronous_commit to on/));
});

test("the doctor finds that transactions are read-only", async () => {
  const found = await withSql(
    "alter role herald_app set default_transaction_read_only = on",
    "alter role herald_app reset default_transaction_read_only",
    () => complaints(),
  );
  expect(found).toEqual(only("fault", "database", /read-only/, /Reset it where it is set/));
});

test("the doctor finds that this machine's clock is wrong, which does Herald no harm", async () => {
  const found = await complaints({ aheadMs: 400_000 });
  expect(found).toEqual(only("warning", "clocks", /400 s ahead of PostgreSQL's/, /time server/));
  expect(await complaints({ aheadMs: -3_000 })).toEqual([]);
});

test("roles.sql gives the database the defaults of herald migrate, whose user does not own the database", async () => {
  expect(await migrate(postgres.url("herald_owner"))).toEqual({
    applied: [],
    granted: ["herald_api", "herald_app", "herald_dispatcher", "herald_publisher"],
  });
  const { leftToOwner } = await migrate(postgres.url("herald_owner"), { statementTimeoutMs: 45_000 });
  expect(leftToOwner).toEqual([`alter database "herald" set statement_timeout = '45000'`]);
});

test("the doctor warns where a session gets other settings than its statements are made for", async () => {
  const found = await withSql(
    "alter role herald_app set random_page_cost = 4",
    "alter role herald_app reset random_page_cost",
    () => complaints(),
  );
  expect(found).toEqual(only("warning", "database's defaults", /random_page_cost is 4 and not 1\.1/, /herald migrate/));
});

test("the doctor finds that no publisher makes partitions", async () => {
  const day = "'2020-01-01'::date";
  const found = await withSql(`select make_partitions(${day})`, `select drop_partitions(${day}, 10)`, () =>
    complaints(),
  );
  expect(found).toEqual(only("fault", "partitions", /No day ahead has partitions/, /Start a publisher/));
});

test("the doctor finds that a restore is not ended", async () => {
  const found = await withSql(
    "insert into restore (restored_to, begun_at) values (now(), '2026-01-31T12:00:00Z')",
    "delete from restore",
    () => complaints(),
  );
  expect(found).toEqual(
    only("warning", "restore", /since 2026-01-31T12:00:00\.000Z: no attempt begins/, /herald restore end/),
  );
});

test("the doctor counts the secrets that no key opens", async () => {
  const other = secretSealer(newSealingKeys("lost").SECRET_SEALING_KEY);
  const id = (number: number) => `00000000-0000-4000-8000-00000000000${number}`;
  const insert = (number: number, sealed: string) =>
    `('${id(number)}', 'o', 'n', 'https://r.example', true, '{}', '${sealed}', now(), now())`;
  const rows = [
    insert(1, secretBox(sealingKeys.SECRET_KEYS).seal("s", id(1))),
    insert(2, other.seal("s", id(2))),
    insert(3, other.seal("s", id(3))),
  ];
  const columns = "id, organization_id, name, url, enabled, events, sealed_secret, created_at, updated_at";
  const found = await withSql(
    `insert into webhook_endpoint (${columns}) values ${rows.join(", ")}`,
    "delete from webhook_endpoint",
    () => complaints(),
  );
  expect(found).toEqual(only("fault", "key ring", /2 of 3 signing secrets.*key "lost"/, /Put the missing key back/));
});

test("the doctor finds that no private key opens what the management API seals", async () => {
  const { SECRET_SEALING_KEY } = newSealingKeys("lost");
  const found = await complaints({ settings: { SECRET_SEALING_KEY } });
  expect(found).toEqual(only("fault", "sealing key", /No key of SECRET_KEYS opens.*key "lost"/, /of all dispatchers/));
});
