import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { declareTopology } from "@herald/common/broker/topology";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox, secretSealer } from "@herald/common/security/secret-box";
import { eventually } from "@herald/dev/harness/eventually";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import type { NamedFinding } from "../../src/doctor/finding.ts";
import { callHerald } from "../run-herald.ts";
import { type Change, useRightSetUp } from "./right-set-up.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-doctor-broker-"));
const badTypes = join(folder, "types.json");
writeFileSync(badTypes, JSON.stringify({ paid: { entityType: "Invoice", emittedWhen: "an invoice is paid" } }));
/** A node whose users, limits and policies a test may change. */
let node: RabbitmqNode;
let starting: Promise<RabbitmqNode>;
// It starts while the set-up does.
beforeAll(() => {
  starting = askForRabbitmqServer().then(({ executable }) =>
    startRabbitmqNode(executable, { folder, pidFolder: join(folder, "pids"), disposable: true }),
  );
});
const { broker, postgres, caFile, sealingKeys, answerKeys, complaints, onBroker } = useRightSetUp();
beforeAll(async () => {
  node = await starting;
}, STACK_TIMEOUT_MS);
afterAll(async () => {
  await node?.stop();
  rmSync(folder, { recursive: true, force: true });
}, STACK_TIMEOUT_MS);

const changedUrl = (url: string, change: Partial<URL>) => Object.assign(new URL(url), change).href;

/** A finding as one text: how bad, by which check, what is so, and the remedy. */
const inWords = ({ status, check, what, remedy }: NamedFinding) => `${status}, ${check}: ${what} -> ${remedy}`;
const only = (words: RegExp) => [expect.stringMatching(words)];

/** What the doctor says of one of the servers, while the other one is away. */
async function complaintsOf(server: "PostgreSQL" | "RabbitMQ", { settings, ...change }: Change = {}) {
  const away =
    server === "PostgreSQL"
      ? { AMQP_URL: "amqp://herald:do-not-show@127.0.0.1:1" }
      : { DATABASE_URL: "postgres://herald:do-not-show@127.0.0.1:1/herald" };
  const found = await complaints({ ...change, settings: { ...away, ...settings } });
  return found.filter(({ check, what }) => check === server || !/127\.0\.0\.1:1\b/.test(what)).map(inWords);
}

test.each<[string, string, RegExp]>([
  ["RETRY_DELAYS_SECONDS", "60,abc", /^fault, settings: RETRY_DELAYS_SECONDS must match pattern.* -> .*do not start/],
  ["MEMORY_MIB", "64", /^fault, settings: MEMORY_MIB must be >= 176/],
  ["READS_PER_MINUTE", "0", /^fault, settings: READS_PER_MINUTE must be >= 1/],
  ["OUTBOX_KEEP_DAYS", "-1", /^fault, settings: OUTBOX_KEEP_DAYS must be >= 0/],
  ["AUTH_ISSUER", "", /^fault, settings: AUTH_ISSUER is missing/],
  ["AMQP_CA_FILE", caFile, /^fault, settings: .*AMQP_URL asks for no TLS\. Write amqps/],
  ["SECRET_KEYS_FILE", "/nowhere/keys", /^fault, settings: SECRET_KEYS_FILE names a file that can't be read/],
  ["EVENT_TYPES_FILE", "/nowhere/types.json", /^fault, settings: EVENT_TYPES_FILE: the file can't be read/],
  ["EVENT_TYPES_FILE", badTypes, /^fault, settings: EVENT_TYPES_FILE: .*: \/paid\/sample is missing/],
  ["DATABASE_URL_FILE", "/nowhere/url", /^fault, settings: DATABASE_URL_FILE names a file that can't be read/],
  ["EXTRA_CA_FILE", "/nowhere/ca.pem", /^fault, settings: EXTRA_CA_FILE names a file that can't be read/],
  ["ENDPOINT_CONCURENCY", "7", /^warning, settings: ENDPOINT_CONCURENCY is no setting.* -> If ENDPOINT_CONCURRENCY is/],
  ["DATABSE_POOL_SIZE", "7", /^warning, settings: DATABSE_POOL_SIZE is no setting.* -> If DATABASE_POOL_SIZE is meant/],
  [
    "retry_delays_seconds",
    "7",
    /^warning, settings: retry_delays_seconds is no .* -> If RETRY_DELAYS_SECONDS is meant/,
  ],
  ["SECRET_KEY_FILE", "7", /^warning, settings: SECRET_KEY_FILE is no setting.* -> If SECRET_KEYS_FILE is meant/],
])("the doctor finds the setting %s=%s", async (name, value, words) => {
  const absent = /^(DATABASE_URL|SECRET_KEYS)_FILE$/.test(name) ? { [name.replace("_FILE", "")]: "" } : {};
  const others = { KUBERNETES_SERVICE_PORT: "443", HOSTNAME: "one" };
  expect(await complaintsOf("PostgreSQL", { settings: { ...absent, ...others, [name]: value } })).toEqual(only(words));
});

test("the doctor finds that a service lacks a setting that it needs", async () => {
  const found = await complaints({ settings: { SECRET_KEYS: "" }, args: ["--service", "dispatcher"] });
  expect(found[0]).toMatchObject({
    status: "fault",
    check: "settings",
    what: expect.stringMatching(/^SECRET_KEYS is missing/),
  });
});

const INDEX = "resend_endpoint_id_id_idx";
const valid = (is: boolean) => `update pg_index set indisvalid = ${is} where indexrelid = '${INDEX}'::regclass`;
const path = (text: string) => `alter function make_partitions(date, date) set search_path = ${text}`;
const PATH = "pg_catalog, public, pg_temp";
const autovacuum = (value: string) =>
  `alter system set autovacuum = ${value}; select pg_reload_conf(); select pg_sleep(0.2)`;

const dispatcher = (able: boolean) =>
  `insert into process (id, service, able, alive_until) values (gen_random_uuid(), 'dispatcher', ${able}, now() + interval '1 hour')`;

/** What is done to PostgreSQL, and undone; then what the doctor says. */
type DatabaseFault = [name: string, done: [string, string], words: RegExp];

/** A setting of the services' role. */
function ofRole(setting: string, status: "fault" | "warning", what: RegExp): DatabaseFault {
  const name = setting.split(" ")[0];
  const done: [string, string] = [`alter role herald_app set ${setting}`, `alter role herald_app reset ${name}`];
  return [
    setting,
    done,
    new RegExp(`^${status}, sessions' settings: ${what.source}.* -> alter role herald_app reset ${name}`),
  ];
}

/** Faults of what migrations have made. */
function ofSchema(name: string, done: [string, string], what: RegExp, remedy: RegExp): DatabaseFault {
  return [name, done, new RegExp(`^fault, schema: .*${what.source}.* -> .*${remedy.source}`)];
}

const ofSearchPath = (other: string) =>
  ofSchema(
    `a function whose search_path is ${other}`,
    [path(other), path(PATH)],
    /make_partitions\(date,date\).*lacks "search_path=/,
    /security definer/,
  );

/** Each round is wrong at once: none of its faults hides another one. */
const ROUNDS: DatabaseFault[][] = [
  [
    ofRole("statement_timeout = '5s'", "warning", /statement_timeout is 5000 and not 30000/),
    ofRole("random_page_cost = 4", "warning", /random_page_cost is 4 and not 1\.1/),
    ofRole("lock_timeout = '1ms'", "fault", /lock_timeout is 1: statements fail/),
    ofRole("idle_session_timeout = '10s'", "fault", /idle_session_timeout is 10000: connections end/),
    ofRole("synchronous_commit = off", "fault", /synchronous_commit is off: a power cut/),
    ofRole(
      "default_transaction_read_only = on",
      "fault",
      /default_transaction_read_only is on: nothing can be written/,
    ),
    [
      "autovacuum of the server is off",
      [autovacuum("off"), autovacuum("on")],
      /^fault, sessions' settings: .*autovacuum is off: dead rows stay.* -> .*configuration file/,
    ],
    [
      "connection limit of the role",
      ["alter role herald_app connection limit 20", "alter role herald_app connection limit -1"],
      /^fault, connections: .*user's limit leaves 20.* -> .*Raise the user's connection limit/,
    ],
    [
      "services that were told a setting differently",
      [
        `insert into process (id, service, name, facts, said_at) values
          (gen_random_uuid(), 'publisher', 'a:1', '{"RETENTION_DAYS": 30}', now() + interval '1 hour'),
          (gen_random_uuid(), 'management-api', 'b:1', '{"RETENTION_DAYS": 8}', now() + interval '1 hour')`,
        "delete from process",
      ],
      /^warning, processes' settings: RETENTION_DAYS is 8 in management-api b:1, and 30 in publisher a:1\. -> Give all/,
    ],
    [
      "a replication slot that nobody reads",
      ["select pg_create_physical_replication_slot('gone', true)", "select pg_drop_replication_slot('gone')"],
      /^warning, replication slots: .*Nobody reads .* slot gone.* -> .*pg_drop_replication_slot\('gone'\)/,
    ],
    [
      "a right on a table that lacks",
      ["revoke delete on due from herald_app", "grant delete on due to herald_app"],
      /^fault, user's rights: .*herald_app lacks: delete on due\..* -> .*Run herald migrate/,
    ],
    ofSchema(
      "an index that was dropped",
      [`drop index ${INDEX}`, `create index ${INDEX} on resend (endpoint_id, id)`],
      /no index resend_endpoint_id_id_idx/,
      /CREATE INDEX resend_endpoint_id_id_idx ON public\.resend/,
    ),
    ofSchema(
      "row level security",
      ["alter table due enable row level security", "alter table due disable row level security"],
      /table due .has "row level security"/,
      /prisma\/migrations/,
    ),
    ofSchema(
      "a column of another type",
      ["alter table digest alter made_at type timestamptz(0)", "alter table digest alter made_at type timestamptz(3)"],
      /columns of digest .lacks "made_at timestamp\(3\)/,
      /made_at timestamp\(3\)/,
    ),
    ofSearchPath('"$user", public'),
    [
      "no publisher that makes partitions",
      ["select make_partitions('2020-01-01', '2020-01-02')", "select drop_partitions('2020-01-01')"],
      /^fault, partitions: .*No day ahead has partitions.* -> .*Start a publisher/,
    ],
    [
      "a partition that was detached",
      [
        "select make_partitions('2020-02-01', '2020-02-02'); alter table delivery detach partition delivery_20200201",
        "drop table delivery_20200201, business_event_20200201, delivery_attempt_20200201",
      ],
      /^fault, partitions: A partition is missing: of delivery for 2020-02-01\. .* -> Attach it again/,
    ],
    [
      "dispatching that is stopped",
      ["update shard set stopped_at = '2026-01-31T12:00:00Z'", "update shard set stopped_at = null"],
      /^warning, dispatchers: .*since 2026-01-31T12:00:00\.000Z: no attempt begins in 256 of 256 shards.* -> .*herald dispatch start/,
    ],
    [
      "a dispatcher that can make no attempts",
      [dispatcher(false), "delete from process"],
      /^warning, dispatchers: .*1 dispatcher can make no attempts; 0 can\..* -> .*Read their logs/,
    ],
  ],
  [
    ofRole("search_path = pg_catalog", "fault", /search_path is pg_catalog: Herald's tables/),
    [
      "connection limit of the database",
      ["alter database herald connection limit 20", "alter database herald connection limit -1"],
      /^fault, connections: .*database's limit leaves 20.* -> .*Raise the database's connection limit/,
    ],
    [
      "a right on a function that lacks",
      [
        "revoke execute on function make_partitions(date, date) from herald_app",
        "grant execute on function make_partitions(date, date) to herald_app",
      ],
      /^fault, user's rights: .*execute on function make_partitions\(date, date\).* -> .*Run herald migrate/,
    ],
  ],
  [
    [
      "defaults that were not migrated",
      ["alter database herald reset random_page_cost", "alter database herald set random_page_cost = '1.1'"],
      /^warning, sessions' settings: .*random_page_cost is 4 and not 1\.1.* -> .*Run herald migrate/,
    ],
    [
      "shards that nobody owns",
      [dispatcher(true), "delete from process"],
      /^warning, dispatchers: Nobody owns 256 of 256 shards, .* -> Ask again/,
    ],
    [
      "temporary tables for all",
      ["grant temporary on database herald to public", "revoke temporary on database herald from public"],
      /^warning, user's rights: .*temporary tables.* -> .*revoke temporary on database "herald"/,
    ],
    ofSchema(
      "an index that is invalid",
      [valid(false), valid(true)],
      /index resend_endpoint_id_id_idx .has "invalid"/,
      /CREATE INDEX resend_endpoint_id_id_idx/,
    ),
    ofSchema(
      "a table that is not vacuumed",
      ["alter table due set (autovacuum_enabled = false)", "alter table due reset (autovacuum_enabled)"],
      /table due .*has "autovacuum_enabled=false"/,
      /autovacuum_vacuum_threshold=5000/,
    ),
    ofSearchPath("pg_temp, public"),
  ],
  [
    ofSchema(
      "a migration that was cut off",
      ["update _prisma_migrations set finished_at = null", "update _prisma_migrations set finished_at = now()"],
      /_init failed, or was cut off/,
      /Run herald migrate/,
    ),
  ],
  [ofSearchPath("''")],
];

describe.each(ROUNDS.map((rows) => ({ rows })))("of PostgreSQL, in round %#", ({ rows }) => {
  let found: string[] = [];
  const run = async (all: string[]) => {
    for (const statement of all.flatMap((statements) => statements.split("; "))) await postgres.run(statement);
  };
  beforeAll(async () => {
    await run(rows.map(([, [make]]) => make));
    found = await complaintsOf("PostgreSQL").finally(() => run(rows.map(([, [, undo]]) => undo)));
  }, STACK_TIMEOUT_MS);

  test.each(rows)("the doctor finds in PostgreSQL: %s", (_name, _done, words) => {
    expect(found).toContainEqual(only(words)[0]);
  });

  test("the doctor finds nothing else", () => {
    expect(found).toHaveLength(rows.length);
  });
});

test("the doctor finds a right on a column that a service's own user lacks", async () => {
  await postgres.run("revoke update (due_at) on due from herald_dispatcher");
  const found = await complaints({
    settings: { DATABASE_URL: postgres.url("herald_dispatcher"), AMQP_URL: broker.serviceUrls.dispatcher },
    args: ["--service", "dispatcher"],
  });
  await postgres.run("grant update (due_at) on due to herald_dispatcher");
  expect(found.map(inWords)).toEqual(
    only(
      /^fault, user's rights: .*update \(due_at\) on due. -> Run herald migrate as the owner of the tables: .* their rights\.$/,
    ),
  );
});

test("herald migrate gives a user back what it needs, and names the users that it gave rights", async () => {
  await postgres.run("revoke delete on due from herald_app, herald_dispatcher");
  const { code, stdout } = await callHerald(["migrate"], { DATABASE_URL: postgres.url("herald_owner") });
  const users = "herald_api, herald_app, herald_dispatcher, herald_publisher";
  expect({ code, stdout }).toEqual({ code: 0, stdout: `The database is up to date.\nRights are given to ${users}.\n` });
  expect(await complaints()).toEqual([]);
});

test.each<[string, () => string | Promise<string>, RegExp]>([
  [
    "nothing listens there",
    () => "postgres://herald:do-not-show@127.0.0.1:1/herald",
    /^fault, PostgreSQL: .*Nothing listens at 127\.0\.0\.1:1.* -> .*port in DATABASE_URL/,
  ],
  [
    "the password is wrong",
    () => changedUrl(postgres.url(), { password: "do-not-show-either" }),
    /^fault, PostgreSQL: .*refuses this user.* -> .*user and password in DATABASE_URL/,
  ],
  [
    "the database does not exist",
    () => postgres.url("herald_app", "nowhere"),
    /^fault, PostgreSQL: .*"nowhere" does not exist.* -> .*Create the database/,
  ],
  [
    "the database has no schema",
    () => databaseWith("bare", ""),
    /^fault, schema: .*migrations? missing: \d+_init.* -> .*herald migrate as the owner/,
  ],
  [
    "the database has another encoding",
    () => databaseWith("latin", "encoding 'LATIN1' locale 'C' template template0"),
    /^fault, PostgreSQL: .*encoding is LATIN1.* -> .*encoding UTF8/,
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

async function databaseWith(name: string, options: string): Promise<string> {
  await postgres.run(`create database ${name} ${options}`);
  await postgres.run(`revoke temporary on database ${name} from public`);
  return postgres.url("herald_app", name);
}

test.each<[string, Change, RegExp]>([
  [
    "PostgreSQL has no TLS where DATABASE_CA_FILE asks for it",
    { settings: { DATABASE_CA_FILE: caFile } },
    /^fault, PostgreSQL: .*does not speak TLS.* -> .*DATABASE_CA_FILE has to be absent/,
  ],
  [
    "a hundred processes are too many",
    { args: ["--processes", "100"] },
    /^fault, connections: .*100 processes.*the server leaves.* -> .*max_connections/,
  ],
  [
    "this machine's clock is an hour ahead",
    { aheadMs: 3_600_000 },
    /^warning, clocks: .*3600 s ahead of PostgreSQL's.* -> .*time server/,
  ],
  [
    "a disk is nearly full",
    { freeShare: 0.08 },
    /^warning, disks: .*disk at \/data 8 % is free, 81 MiB.* -> .*Make room/,
  ],
  ["a disk is full", { freeShare: 0.0003 }, /^fault, disks: .*disk at \/data 0 % is free, 0 MiB.* -> .*RETENTION_DAYS/],
  [
    "no private key opens what the management API seals",
    { settings: { SECRET_SEALING_KEY: newSealingKeys("lost").SECRET_SEALING_KEY } },
    /^fault, sealing key: .*No key of SECRET_KEYS opens.*key "lost".* -> .*of all dispatchers/,
  ],
  [
    "nothing listens at the broker",
    { settings: { AMQP_URL: "amqp://herald:do-not-show@127.0.0.1:2" } },
    /^fault, RabbitMQ: .*Nothing listens at 127\.0\.0\.1:2.* -> .*port in AMQP_URL/,
  ],
  [
    "the key server is away",
    { settings: { AUTH_JWKS_URL: "http://127.0.0.1:2/jwks" } },
    /^fault, identity provider's keys: .*Nothing listens at 127\.0\.0\.1:2.* -> .*AUTH_JWKS_URL/,
  ],
  [
    "a receiver's address is not public",
    { settings: { ALLOWED_PRIVATE_NETWORKS: "" } },
    /^fault, way out: .*address that is not public.* -> .*ALLOWED_PRIVATE_NETWORKS/,
  ],
  [
    "a receiver's certificate is not trusted",
    { settings: { EXTRA_CA_FILE: "" } },
    /^fault, way out: .*authority that is not trusted.* -> .*EXTRA_CA_FILE/,
  ],
  [
    "name servers can't be asked",
    { settings: { DNS_SERVERS: "127.0.0.1:1" }, args: ["--url", "https://receiver.example/"] },
    /^fault, way out: .*name servers do not say.* -> .*DNS_SERVERS/,
  ],
  [
    "nothing listens at the egress proxy",
    { settings: { EGRESS_PROXY_URL: "http://user:hunter2@127.0.0.1:1" } },
    /^fault, way out: The egress proxy makes no way to [^ ]*\. -> Correct EGRESS_PROXY_URL/,
  ],
  [
    "nothing listens at the receiver",
    { args: ["--url", "https://127.0.0.1:1/"] },
    /^fault, way out: .*Nothing listens.* -> .*--url/,
  ],
])("the doctor finds that %s", async (_name, change, words) => {
  expect(await complaintsOf("PostgreSQL", change)).toEqual(only(words));
});

test("the doctor finds that the key server has no usable key", async () => {
  answerKeys('{"keys":[]}');
  const found = await complaints().finally(() => answerKeys());
  expect(found.map(inWords)).toEqual(
    only(/^fault, identity provider's keys: .*none that tokens.* -> .*Have the provider sign/),
  );
});

test("the doctor counts the secrets that no key opens", async () => {
  const other = secretSealer(newSealingKeys("lost").SECRET_SEALING_KEY);
  const id = (number: number) => `00000000-0000-4000-8000-00000000000${number}`;
  const sealed = [secretBox(sealingKeys.SECRET_KEYS).seal("s", id(0)), other.seal("s", id(1)), other.seal("s", id(2))];
  const rows = sealed.map(
    (each, at) => `('${id(at)}', 'o', 'n', 'https://r.example', true, '{}', '${each}', now(), now())`,
  );
  const columns = "id, organization_id, name, url, enabled, events, sealed_secret, created_at, updated_at";
  await postgres.run(`insert into webhook_endpoint (${columns}) values ${rows.join(", ")}`);
  const found = await complaints().finally(() => postgres.run("delete from webhook_endpoint"));
  expect(found.map(inWords)).toEqual(
    only(/^fault, key ring: .*2 of 3 signing secrets.*key "lost".* -> .*Put the missing key back/),
  );
});

const [configure = "", write = "", read = ""] = rightsOf("herald");

interface VirtualHost {
  rights?: [configure: string, write: string, read: string];
  policy?: object;
  limits?: object;
}

const inProbe = (what: RegExp, remedy: RegExp) =>
  new RegExp(`^fault, rights and policies: .*${what.source}.* -> .*${remedy.source}`);

/** What is done to a virtual host of the row's own, and what the doctor says. */
const BROKER_FAULTS: [name: string, done: VirtualHost, words: RegExp][] = [
  [
    "no-configure",
    { rights: ["^$", write, read] },
    inProbe(/lacks the right to configure/, /rabbitmqctl set_permissions/),
  ],
  [
    "no-write",
    { rights: [configure, "^herald\\.", read] },
    inProbe(/lacks the right to write to the default exchange/, /set_permissions/),
  ],
  [
    "no-read",
    { rights: [configure, write, "^amq\\.rabbitmq"] },
    inProbe(/lacks the right to read,/, /set_permissions/),
  ],
  [
    "write-nothing",
    { rights: [configure, "^$", read] },
    inProbe(/lacks the right to write to the default exchange/, /set_permissions/),
  ],
  [
    "message-ttl",
    { policy: { "message-ttl": 100 } },
    inProbe(/policy loses messages: of 3 .* 0 were there/, /list_policies.*message-ttl/),
  ],
  ["max-length", { policy: { "max-length": 1 } }, inProbe(/policy loses messages: of 3 .* 1 were there/, /max-length/)],
  [
    "reject-publish",
    { policy: { "max-length": 1, overflow: "reject-publish" } },
    inProbe(/policy loses messages: the broker refused one/, /list_policies/),
  ],
  [
    "max-queues",
    { limits: { "max-queues": 0 } },
    inProbe(/virtual host max-queues may have no more queues/, /set_vhost_limits.*max-queues/),
  ],
  [
    "max-connections",
    { limits: { "max-connections": 0 } },
    /^fault, RabbitMQ: .*or a limit of connections is reached.* -> .*list_vhost_limits --vhost max-connections/,
  ],
];

/** What a user says of itself in a virtual host where nothing is wrong. */
const WRONG_ADDRESSES: [name: string, url: Partial<URL>, namespace: string, words: RegExp][] = [
  [
    "a virtual host that does not exist",
    { pathname: "/nowhere" },
    "herald",
    /^fault, RabbitMQ: .*refuses the virtual host nowhere.* -> .*virtual host in AMQP_URL/,
  ],
  [
    "a wrong password",
    { password: "do-not-show-either" },
    "herald",
    /^fault, RabbitMQ: .*refuses this user.* -> .*user and password in AMQP_URL/,
  ],
  ["a misspelt namespace, as a right that lacks", {}, "harald", inProbe(/begins with "harald\."/, /set_permissions/)],
];

const SERVICE_FAULTS = [
  ["management-api", /may not write to herald\.requests/],
  ["publisher", /may not write to herald\.dispatch/],
  ["dispatcher", /may not write to the default exchange/],
] as const;

/** The user "weak" has the rights of Herald's in each virtual host, unless a row says otherwise. */
function definitions(): object {
  const vhosts = BROKER_FAULTS.map(([vhost, done]) => ({ vhost, done }));
  return {
    users: [{ name: "weak", password: "do-not-show", tags: "" }],
    vhosts: ["right", ...BROKER_FAULTS.map(([vhost]) => vhost)].map((name) => ({ name })),
    permissions: [{ vhost: "right", done: {} as VirtualHost }, ...vhosts].flatMap(({ vhost, done }) => [
      permission("weak", vhost, done.rights ?? [configure, write, read]),
      permission("guest", vhost, [".*", ".*", ".*"]),
    ]),
    policies: vhosts.flatMap(({ vhost, done: { policy } }) =>
      policy ? [{ vhost, name: "all", pattern: "^herald\\.", "apply-to": "all", priority: 0, definition: policy }] : [],
    ),
    parameters: vhosts.flatMap(({ vhost, done: { limits } }) =>
      limits ? [{ vhost, component: "vhost-limits", name: "limits", value: limits }] : [],
    ),
  };
}

function permission(user: string, vhost: string, [configure, write, read]: NonNullable<VirtualHost["rights"]>): object {
  return { user, vhost, configure, write, read };
}

describe("of a broker", () => {
  const urlOf = (vhost: string, change: Partial<URL> = {}) =>
    changedUrl(node.url, { username: "weak", password: "do-not-show", pathname: `/${vhost}`, ...change });
  /** By the row's name. The rows share no virtual host, so the doctor looks at several at once. */
  const found = new Map<string, string[]>();

  async function look(name: string, url: string, namespace = "herald"): Promise<void> {
    found.set(name, await complaintsOf("RabbitMQ", { settings: { AMQP_URL: url, BROKER_NAMESPACE: namespace } }));
  }

  async function lookAs(service: string): Promise<void> {
    const settings = { AMQP_URL: urlOf("write-nothing"), BROKER_NAMESPACE: "herald" };
    found.set(service, (await complaints({ settings, args: ["--service", service] })).map(inWords));
  }

  beforeAll(async () => {
    const file = join(folder, "definitions.json");
    writeFileSync(file, JSON.stringify(definitions()));
    await node.control(["import_definitions", file]);
    const connection = await connect(changedUrl(node.url, { pathname: "/write-nothing" }));
    await declareTopology(await connection.createChannel(), "herald");
    await connection.close();
    const looks = [
      () => look("right", urlOf("right")),
      ...BROKER_FAULTS.map(
        ([vhost]) =>
          () =>
            look(vhost, urlOf(vhost)),
      ),
      ...WRONG_ADDRESSES.map(
        ([name, change, namespace]) =>
          () =>
            look(name, urlOf("right", change), namespace),
      ),
      ...SERVICE_FAULTS.map(
        ([service]) =>
          () =>
            lookAs(service),
      ),
    ];
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let next = looks.shift(); next; next = looks.shift()) await next();
      }),
    );
  }, STACK_TIMEOUT_MS);

  test("the doctor finds nothing wrong with a broker that has RabbitMQ's own limits", () => {
    expect(found.get("right")).toEqual([]);
  });

  const rows = [...BROKER_FAULTS, ...WRONG_ADDRESSES].map((row) => [row[0], row.at(-1) as RegExp] as const);
  test.each(rows)("the doctor finds in RabbitMQ: %s", (name, words) => {
    expect(found.get(name)).toEqual(only(words));
  });

  test.each(SERVICE_FAULTS)("the doctor finds what the broker user of a %s lacks", (service, lacked) => {
    expect(found.get(service)).toContainEqual(only(inProbe(lacked, /definitions\.json/))[0]);
  });

  test("the doctor finds that the broker takes no messages", async () => {
    await node.control(["set_vm_memory_high_watermark", "absolute", "1MB"]);
    const settings = { AMQP_URL: node.url, BROKER_NAMESPACE: "alarmed" };
    // It looks at its memory now and then.
    await eventually(async () =>
      expect(await complaintsOf("RabbitMQ", { settings })).toEqual(
        only(/^fault, RabbitMQ: .*memory or disk alarm.* -> .*rabbitmq-diagnostics alarms/),
      ),
    );
  });

  test("the doctor finds a queue and an exchange that are others than Herald declares", async () => {
    const namespace = `${broker.namespace}.other`;
    await onBroker((channel) => channel.assertQueue(`${namespace}.events.inbox.3`, { durable: true }));
    await onBroker((channel) => channel.assertExchange(`${namespace}.events`, "direct"));
    expect(await complaintsOf("RabbitMQ", { settings: { BROKER_NAMESPACE: namespace } })).toEqual([
      ...only(/^fault, queues and exchanges: .*type is 'direct', and Herald declares 'topic'.* -> Delete it/),
      ...only(
        /^fault, queues and exchanges: .*inbox\.3 is another one: .*Herald declares.* -> .*delete_queue .*\.events\.inbox\.3/,
      ),
    ]);
  });
});

/** What deploy/rabbitmq gives a user: to configure, to write and to read. */
function rightsOf(user: string): string[] {
  const text = readFileSync(join(projectFolder(), "deploy", "rabbitmq", "definitions.json"), "utf8");
  const { permissions } = JSON.parse(text) as {
    permissions: { user: string; configure: string; write: string; read: string }[];
  };
  return permissions
    .filter((each) => each.user === user)
    .flatMap(({ configure, write, read }) => [configure, write, read]);
}
