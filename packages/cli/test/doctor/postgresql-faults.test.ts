import { Client, openSession } from "@herald/common/database/client";
import { migrationsFolder, readMigrations } from "@herald/common/database/migrations";
import { eventually } from "@herald/dev/harness/eventually";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { callHerald } from "../run-herald.ts";
import { commandsOf, inWords, only, useRightSetUp } from "./right-set-up.ts";

const { broker, postgres, complaints, complaintsOf } = useRightSetUp();

const INDEX = "resend_endpoint_id_id_idx";
const OF_PARTITIONS = "delivery_endpoint_id_id_idx";
const invalid = (index: string) => `update pg_index set indisvalid = false where indexrelid = '${index}'::regclass`;
const path = (text: string) => `alter function make_partitions(date, date) set search_path = ${text}`;
const system = (change: string) => `alter system ${change}; select pg_reload_conf(); select pg_sleep(0.2)`;
const SHARD_OF = "function shard_of(endpoint_id uuid) returns smallint language sql immutable parallel safe as";
const [, SHARD_OF_BODY = ""] =
  /^CREATE FUNCTION "shard_of"[^$]*(\$\$[\s\S]*?\$\$)/m.exec(
    readMigrations(migrationsFolder())
      .map(({ sql }) => sql)
      .join("\n"),
  ) ?? [];

const dispatcher = (able: boolean) =>
  `insert into process (id, service, able, alive_until) values (gen_random_uuid(), 'dispatcher', ${able}, now() + interval '1 hour')`;
const atWork = (service: string) =>
  `insert into process (id, service, name, facts, said_at) values (gen_random_uuid(), '${service}', 'a', '{}', now() + interval '1 hour')`;
const publisher = (facts: object) =>
  `insert into process (id, service, name, facts, said_at) values (gen_random_uuid(), 'publisher', 'a:${Object.values(facts)[0]?.mark ?? Object.values(facts)[0]}', '${JSON.stringify(facts)}', now() + interval '1 hour')`;

const authorities = (mark: string, heldSeconds: number) => ({ mark, heldSeconds });

/** A fault of PostgreSQL, the doctor's words, and statements that undo the rest when the commands of the remedy have run. */
type DatabaseFault = [name: string, made: string, words: RegExp, rest?: string];

/** A setting of the services' role. */
function ofRole(setting: string, status: "fault" | "warning", what: RegExp): DatabaseFault {
  return [
    setting,
    `alter role herald_app set ${setting}`,
    new RegExp(
      `^${status}, sessions' settings: ${what.source}.* -> \`alter role herald_app reset ${setting.split(" ")[0]}\``,
    ),
  ];
}

/** A change to what migrations made. */
const ofSchema = (name: string, made: string, words: RegExp): DatabaseFault => [
  name,
  made,
  new RegExp(`^fault, schema: .*${words.source}`),
];

const ofSearchPath = (other: string) =>
  ofSchema(
    `a function whose search_path is ${other}`,
    path(other),
    /make_partitions .*rights of its owner.* -> .*alter function/,
  );

/** Each round is wrong at once: none of its faults hides another one. */
const ROUNDS: DatabaseFault[][] = [
  [
    ofRole("statement_timeout = '5s'", "warning", /statement_timeout is 5000 and not 30000/),
    ofRole("random_page_cost = 4", "warning", /random_page_cost is 4 and not 1\.1/),
    ofRole("lock_timeout = '1ms'", "fault", /lock_timeout is 1: statements fail/),
    ofRole("idle_session_timeout = '10s'", "fault", /idle_session_timeout is 10000: connections end/),
    ofRole("synchronous_commit = off", "fault", /synchronous_commit is off: a power cut/),
    ofRole("temp_file_limit = 0", "fault", /temp_file_limit is 0: statements fail/),
    ofRole(
      "default_transaction_isolation = 'serializable'",
      "fault",
      /default_transaction_isolation is serializable: /,
    ),
    ofRole("session_replication_role = 'replica'", "fault", /session_replication_role is replica: /),
    ofRole(
      "default_transaction_read_only = on",
      "fault",
      /default_transaction_read_only is on: nothing can be written/,
    ),
    [
      "autovacuum of the server is off",
      system("set autovacuum = off"),
      /^fault, sessions' settings: .*autovacuum is off: dead rows stay.* -> .*`alter system reset autovacuum`/,
      "select pg_sleep(0.2)",
    ],
    [
      "services with different settings",
      `${publisher({ RETENTION_DAYS: 30 })}; ${publisher({ RETENTION_DAYS: 8 })}`,
      /^warning, processes' settings: RETENTION_DAYS is 30 in publisher a:30, and 8 in publisher a:8\. -> Give all/,
      "delete from process",
    ],
    [
      "services of which one has no value",
      `${publisher({ DENIED_NETWORKS: "10.0.0.0/8" })}; ${publisher({ DENIED_NETWORKS: "" })}`,
      /^warning, processes' settings: DENIED_NETWORKS is not set in publisher a:, and 10\.0\.0\.0\/8 in publisher \S+\. -> Give all/,
      "delete from process",
    ],
    [
      "services that hold different authorities for more than two minutes",
      `${publisher({ AMQP_CA_FILE: authorities("a1", 600) })}; ${publisher({ AMQP_CA_FILE: authorities("b2", 121) })};
       ${publisher({ DATABASE_CA_FILE: authorities("a1", 600) })}; ${publisher({ DATABASE_CA_FILE: authorities("b2", 119) })}`,
      /^warning, processes' settings: AMQP_CA_FILE is a1 in publisher \S+, and b2 in publisher \S+\. -> Bring the same file to all/,
      "delete from process",
    ],
    [
      "a service that is not ready",
      publisher({ notReady: "broker" }),
      /^warning, services at work: The publisher a:\S+ is not ready: broker\. -> If it has just started/,
      "delete from process",
    ],
    [
      "a service whose machine's clock is three minutes behind",
      publisher({ clockAheadSeconds: -180 }),
      /^warning, services at work: The publisher a:\S+ has a clock that is 180 s behind PostgreSQL's\. -> .*time server/,
      "delete from process",
    ],
    [
      "a service that loses its log",
      publisher({ linesLost: 12 }),
      /^warning, services at work: The publisher a:\S+ has lost 12 lines of its log, .* -> Make room/,
      "delete from process",
    ],
    [
      "a service that fell silent",
      `${publisher({})}; update process set said_at = now() - interval '50 seconds' where facts = '{}'`,
      /^warning, services at work: The publisher \S+ has said nothing for \d+ s: .* -> Ask again in a minute/,
      "delete from process",
    ],
    [
      "an environment unlike that of the services",
      publisher({ BROKER_NAMESPACE: "elsewhere" }),
      /^warning, processes' settings: BROKER_NAMESPACE is elsewhere in publisher a:elsewhere, and .* in this environment\. -> Give all/,
      "delete from process",
    ],
    [
      "a right on a table that lacks",
      "revoke delete on due from herald_app",
      /^fault, user's rights: .*herald_app lacks: delete on due\..* -> Run `herald migrate`/,
    ],
    ofSchema(
      "an index that was dropped",
      `drop index ${INDEX}`,
      /no index resend_endpoint_id_id_idx.* -> .*`CREATE INDEX/,
    ),
    ofSchema(
      "an index of partitions that was dropped",
      `drop index ${OF_PARTITIONS}`,
      /no index delivery_endpoint_id_id_idx/,
    ),
    ofSchema(
      "row level security",
      "alter table due enable row level security",
      /Row level security may hide rows of due/,
    ),
    ofSchema("a table that is unlogged", "alter table digest set unlogged", /digest is unlogged/),
    ofSchema(
      "a trigger of others",
      "create trigger odd before update on due for each row execute function suppress_redundant_updates_trigger()",
      /trigger odd on due is not Herald's/,
    ),
    ofSchema(
      "a constraint of others",
      "alter table due add constraint odd check (shard < 300)",
      /constraint odd on due is not Herald's/,
    ),
    ofSearchPath('"$user", public'),
    [
      "no publisher that makes partitions",
      "select make_partitions('2020-01-01', '2020-01-02')",
      /^fault, partitions: .*No day ahead has partitions.* -> .*Start a publisher/,
      "select drop_partitions('2020-01-01')",
    ],
    [
      "a partition that was detached",
      "select make_partitions('2020-02-01', '2020-02-02'); alter table delivery detach partition delivery_20200201",
      /^fault, partitions: The partition delivery_20200201 is missing: .* -> .*`alter table delivery attach partition/,
      "select drop_partitions('2020-02-01')",
    ],
    [
      "a partition that was dropped",
      "select make_partitions('2020-03-01', '2020-03-02'); drop table business_event_20200301",
      /^fault, partitions: The partition business_event_20200301 is missing: .* -> .*`create table business_event_20200301/,
      "select drop_partitions('2020-03-01')",
    ],
    [
      "dispatching that is stopped",
      "update shard set stopped_at = '2026-01-31T12:00:00Z'",
      /^warning, dispatching: .*since 2026-01-31T12:00:00\.000Z: no attempt begins in 256 of 256 shards.* -> .*herald dispatch start/,
    ],
    [
      "a dispatcher that can make no attempts",
      `${dispatcher(false)}; ${atWork("management-api")}`,
      /^warning, dispatching: 1 dispatcher can make no attempts, .* -> Ask again.* logs/,
      "delete from process",
    ],
  ],
  [
    [
      "no dispatcher beside a publisher",
      atWork("publisher"),
      /^warning, dispatching: No dispatcher is at work, .*256 of 256 shards have no owner\. -> Start dispatchers/,
      "delete from process",
    ],
    [
      "no management API beside a publisher",
      "select",
      /^warning, services at work: No management API is at work, so neither the API nor the page answers\. -> Start it/,
    ],
  ],
  [
    ofSearchPath("''"),
    [
      "a right on a function that lacks",
      "revoke execute on function make_partitions(date, date) from herald_app",
      /^fault, user's rights: .*execute on function make_partitions\(date, date\).* -> Run `herald migrate`/,
    ],
  ],
  [
    [
      "defaults that were not migrated",
      "alter database herald reset random_page_cost",
      /^warning, sessions' settings: .*random_page_cost is 4 and not 1\.1.* -> Run `herald migrate`/,
      // The owner of the database runs what it prints.
      "alter database herald set random_page_cost = '1.1'",
    ],
    [
      "shards without an owner",
      dispatcher(true),
      /^warning, dispatching: .*256 of 256 shards have no owner\. -> Ask again/,
      "delete from process",
    ],
    [
      "no publisher beside a management API",
      atWork("management-api"),
      /^warning, services at work: No publisher is at work, so no event is stored: .* -> Start it\. If it ends again, its log says why/,
    ],
    ofSchema(
      "an index that is invalid",
      invalid(INDEX),
      /index resend_endpoint_id_id_idx is not valid.* -> .*`reindex/,
    ),
    ofSchema(
      "an index of partitions that is invalid",
      invalid(OF_PARTITIONS),
      /index delivery_endpoint_id_id_idx is not valid/,
    ),
    ofSchema("a table that is not vacuumed", "alter table due set (autovacuum_enabled = false)", /due is not vacuumed/),
    [
      "a function that was replaced",
      `create or replace ${SHARD_OF} 'select 1::smallint'`,
      /^fault, schema: The function shard_of is another one.* -> .*create or replace/,
      `create or replace ${SHARD_OF} ${SHARD_OF_BODY}`,
    ],
    ofSearchPath("pg_temp, public"),
  ],
  [
    [
      "a migration that was cut off",
      "update _prisma_migrations set finished_at = null",
      /^fault, schema: .*_init failed, or was cut off.* -> Run herald migrate/,
      "update _prisma_migrations set finished_at = now()",
    ],
  ],
  [
    [
      "a standby that does not answer",
      system("set synchronous_standby_names = 'gone'"),
      /^fault, a commit: .*waits for a standby.* -> .*`alter system reset synchronous_standby_names`/,
    ],
  ],
];

describe.each(ROUNDS.map((rows) => ({ rows })))("of PostgreSQL, in round %#", ({ rows }) => {
  let found: string[] = [];
  let left: string[] = [];
  const run = async (statements: string) => {
    for (const statement of statements.split("; ")) await postgres.run(statement);
  };
  /** Runs a command of a remedy, as the user that it is for. */
  async function runAs(isOwner: boolean, command: string): Promise<void> {
    const [program, ...args] = command.split(" ");
    const url = postgres.url("herald_owner");
    if (program === "herald") return void (await callHerald(args, { DATABASE_URL: url }));
    if (!isOwner) return await postgres.run(command);
    const session = await openSession(url, { applicationName: "herald-test" });
    await session.query(command).finally(() => session.close());
  }
  beforeAll(async () => {
    for (const [, made] of rows) await run(made);
    found = await complaintsOf("PostgreSQL");
    for (const finding of found) {
      for (const command of commandsOf(finding)) await runAs(/owner of the tables/.test(finding), command);
    }
    for (const [, , , rest] of rows) await (rest && run(rest));
    left = await complaintsOf("PostgreSQL");
  }, STACK_TIMEOUT_MS);

  test.each(rows)("the doctor finds in PostgreSQL: %s", (_name, _made, words) => {
    expect(found).toContainEqual(only(words)[0]);
  });

  test("the doctor finds nothing else, and nothing when its remedies have been run", () => {
    expect(found).toHaveLength(rows.length);
    expect(left).toEqual([]);
  });
});

const LOCK = "lock table delivery in access exclusive mode";
const READ = "select from delivery limit 1";
const ROW = "select from shard where id = 0 for update";

/** What a session does that holds Herald up, the statement of Herald's that waits, the doctor's words, and a statement that waits between both. */
test.each<[name: string, holding: string, waiting: string, words: RegExp, between: string]>([
  ["locks a table", LOCK, READ, / on delivery\. It is idle in transaction .* last: begin; lock table/, ""],
  [
    "locks a row",
    ROW,
    "update shard set owner = null where id = 0",
    / on shard\. It is idle in transaction .*for upd/,
    "",
  ],
  ["has a secret in its statement", `${LOCK}; select 'do-not-show'`, READ, /exclusive mode; select '\.\.\.' ->/, ""],
  [
    "has read what another one empties",
    "table digest",
    "table digest",
    / on digest\. .*begin; table digest ->/,
    "truncate digest",
  ],
])(
  "the doctor names the session that %s, looks on soon, and says how to end it",
  async (_, holding, waiting, words, between) => {
    const open = async (application_name: string) => {
      const client = new Client({ connectionString: postgres.url("herald_owner"), application_name });
      await client.connect();
      return client;
    };
    const [holder, emptying] = [await open("psql"), await open("psql")];
    const waiters = [await open("herald-dispatcher"), await open("herald-publisher")];
    await holder.query(`begin; ${holding}`);
    const emptied = between && emptying.query(between);
    await eventually(async () => {
      const waits = await waiters[0]?.query("select from pg_locks where not granted");
      expect(waits?.rowCount).toBe(between ? 1 : 0);
    });
    const waited = Promise.allSettled(waiters.map((each) => each.query(waiting)));
    const isFault = (text: string) => text.startsWith("fault");
    try {
      // A wait of less than a second is none.
      const found = await eventually(async () => {
        const found = await complaintsOf("PostgreSQL");
        expect(found.filter(isFault)).toEqual(
          only(/^fault, locks: Session \d+ \(herald_owner, psql.* holds up 2 statements of Herald/),
        );
        return found;
      });
      expect(found.filter(isFault)).toEqual(only(words));
      for (const other of found.filter((text) => !isFault(text))) {
        expect(other).toMatch(/^warning, (partitions|dispatching): PostgreSQL did not let it read .*"locks"/);
      }
      const [remedy = "", ...others] = found.flatMap(commandsOf);
      expect([remedy, others]).toEqual([expect.stringMatching(/^select pg_terminate_backend\(\d+\)$/), []]);
      await postgres.run(remedy);
      await emptied;
      expect((await waited).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
      expect(await complaintsOf("PostgreSQL")).toEqual([]);
    } finally {
      for (const each of [holder, emptying, ...waiters]) await each.end();
    }
  },
);

test("the doctor finds a right on a column that a service's own user lacks", async () => {
  await postgres.run("revoke update (due_at) on due from herald_dispatcher");
  const found = await complaints({
    settings: { DATABASE_URL: postgres.url("herald_dispatcher"), AMQP_URL: broker.serviceUrls.dispatcher },
    args: ["--service", "dispatcher"],
  });
  await postgres.run("grant update (due_at) on due to herald_dispatcher");
  expect(found.map(inWords)).toEqual(
    only(
      /^fault, user's rights: .*update \(due_at\) on due. -> Run `herald migrate` as the owner of the tables: .* their rights\.$/,
    ),
  );
});

test("herald migrate gives a user back what it needs, and names the users that it gave rights", async () => {
  await postgres.run("revoke delete on due from herald_app, herald_dispatcher");
  const { code, stdout } = await callHerald(["migrate"], { DATABASE_URL: postgres.url("herald_owner") });
  const users = "herald_api, herald_app, herald_dispatcher, herald_publisher";
  expect({ code, stdout }).toEqual({ code: 0, stdout: `The database is up to date.\nRights are given to ${users}.\n` });
  expect(await complaintsOf("PostgreSQL")).toEqual([]);
});

test.each<[string, () => string | Promise<string>, RegExp]>([
  [
    "nothing listens there",
    () => "postgres://herald:do-not-show@127.0.0.1:1/herald",
    /^fault, PostgreSQL: .*Nothing listens at 127\.0\.0\.1:1.* -> .*port in DATABASE_URL/,
  ],
  [
    "the database has no schema",
    bareDatabase,
    /^fault, schema: .*lacks (\d+) of \1 migrations: \d+_init.* -> .*`herald migrate` as the owner/,
  ],
  [
    "the user owns the tables",
    () => postgres.url("herald_owner"),
    /^warning, user's rights: .*owns the tables.* -> .*service-roles\.sql/,
  ],
])("the doctor finds that %s", async (_name, url, words) => {
  const found = await complaintsOf("PostgreSQL", { settings: { DATABASE_URL: await url() } });
  expect(found.slice(0, 1)).toEqual(only(words));
  expect(found.some((text) => text.startsWith("fault"))).toBe(words.source.startsWith("^fault"));
});

test.each<[string, made: string, undone: string, RegExp]>([
  [
    "password has expired",
    "role herald_app valid until '2020-01-01'",
    "role herald_app valid until 'infinity'",
    /refuses this user.* -> Correct user and password/,
  ],
  [
    "user may have no more connections",
    "role herald_app connection limit 0",
    "role herald_app connection limit -1",
    /has no connection left: .*for role.* -> .*the user's limit/,
  ],
  [
    "database may have no more connections",
    "database herald connection limit 0",
    "database herald connection limit -1",
    /has no connection left: .*for database.* -> .*the database's/,
  ],
])("the doctor finds that the %s", async (_name, made, undone, words) => {
  await postgres.run(`alter ${made}`);
  const found = await complaintsOf("PostgreSQL").finally(() => postgres.run(`alter ${undone}`));
  expect(found).toEqual(only(words));
});

async function bareDatabase(): Promise<string> {
  await postgres.run("create database bare");
  await postgres.run("revoke temporary on database bare from public");
  return postgres.url("herald_app", "bare");
}
