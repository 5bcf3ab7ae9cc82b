import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { names } from "@herald/common/broker/topology";
import { openSession } from "@herald/common/database/client";
import { readLag } from "@herald/common/database/lag";
import { migrate } from "@herald/common/database/migrate";
import { type Database, openDatabase } from "@herald/common/database/open-database";
import type { Service } from "@herald/common/service/run-service";
import type { Notice, Resend } from "@herald/contracts";
import { certificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { useOwnPostgres } from "@herald/dev/harness/own-postgres";
import { useBroker } from "@herald/dev/harness/use-broker";
import { startDispatcher } from "@herald/dispatcher";
import { createEmitter, newEvent } from "@herald/emitter";
import { startManagementApi } from "@herald/management-api";
import { startPublisher } from "@herald/publisher";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { apiClient } from "../../src/herald/api-client.ts";
import { SHORT_INTERVALS } from "../../src/herald/in-process.ts";
import { heraldSettings } from "../../src/herald/settings.ts";

type Role = "herald_owner" | "herald_app" | "herald_api" | "herald_publisher" | "herald_dispatcher";
const SERVICES: readonly Role[] = ["herald_app", "herald_api", "herald_publisher", "herald_dispatcher"];
const mark = randomBytes(4).toString("hex");

const running: Service[] = [];
let receiver: HttpsReceiver | undefined;
let folder = "";
afterAll(async () => {
  await Promise.all(running.splice(0).map((service) => service.stop()));
  await receiver?.close();
  await owner?.close();
  await rm(folder, { recursive: true, force: true });
});
const postgres = useOwnPostgres();
const broker = useBroker();
let owner: Database;

beforeAll(async () => {
  owner = openDatabase(postgres.url("herald_owner"));
  // Partitions of a time that no publisher drops.
  await owner.prisma.$executeRaw`select make_partitions('2190-01-01', '2190-01-02')`;
  folder = await mkdtemp(join(tmpdir(), "herald-roles-"));
  await writeFile(join(folder, "ca.pem"), (await certificates()).caPem);
});

describe.each<[string, Record<"api" | "publisher" | "dispatcher", Role>]>([
  ["one user for all services", { api: "herald_app", publisher: "herald_app", dispatcher: "herald_app" }],
  ["a user for each service", { api: "herald_api", publisher: "herald_publisher", dispatcher: "herald_dispatcher" }],
])("with %s", (name, users) => {
  test(`all that Herald does is done with ${name}`, async () => {
    receiver = await httpsReceiver();
    const { url } = receiver;
    const settingsOf = (role: Role): Record<string, string> => ({
      ...heraldSettings({
        databaseUrl: postgres.url(role),
        amqpUrl: broker.url,
        namespace: broker.namespace,
        caFile: join(folder, "ca.pem"),
      }),
      RETENTION_DAYS: "30",
      RETRY_DELAYS_SECONDS: "0.1,0.1,0.1,0.1",
    });
    const tuning = { ...SHORT_INTERVALS, retentionIntervalMs: 1_000, pausesMs: [50] };
    // It has no key that opens what it seals.
    const { SECRET_KEYS: _keys, ...settingsOfApi } = settingsOf(users.api);
    const api = await startManagementApi(settingsOfApi);
    running.push(
      api,
      await startPublisher(settingsOf(users.publisher), { tuning }),
      await startDispatcher(settingsOf(users.dispatcher), { tuning }),
    );
    const emitter = createEmitter({ url: broker.url, namespace: broker.namespace });
    const product = await connect(broker.url);
    try {
      const channel = await product.createChannel();
      const { queue } = await channel.assertQueue(`product.${mark}`, { exclusive: true });
      await eventually(() => channel.checkExchange(names(broker.namespace).noticesExchange));
      await channel.bindQueue(queue, names(broker.namespace).noticesExchange, "#");
      // One that comes twice has the same id.
      const notices = new Map<string, string>();
      const toldOf = () => [...notices.values()].sort();
      await channel.consume(
        queue,
        (message) => {
          const { id, type } = JSON.parse(String(message?.content)) as Notice;
          notices.set(id, type);
        },
        { noAck: true },
      );

      // Retention ends and erases these: an endpoint's old delivery that is unfinished, and an old event.
      const admin = await apiClient(`http://127.0.0.1:${api.port}`);
      const { organizationId } = admin;
      const { endpoint } = await admin.create({ url });
      const old = new Date(Date.now() - 90 * 24 * 60 * 60_000);
      const { prisma } = owner;
      // At once, since the publisher drops the partition as soon as it sees it.
      await prisma.$transaction([
        prisma.$executeRaw`select make_partitions('2022-04-01', '2022-05-01')`,
        prisma.$executeRaw`
          insert into business_event (organization_id, key, id, type, entity_id, occurred_at, received_at, body)
          values (${organizationId}, '01800000-0000-8000-8000-000000000001', gen_random_uuid(), 'RiskCreated', gen_random_uuid(), ${old}, ${old}, '{}')`,
        prisma.$executeRaw`
          insert into delivery (id, endpoint_id, organization_id, event_type, body, created_at)
          values ('01800000-0000-7000-8000-000000000001', ${endpoint.id}::uuid, ${organizationId}, 'RiskCreated', '{}', ${old})`,
        prisma.$executeRaw`
          insert into due (shard, delivery_id, endpoint_id, due_at)
          values (shard_of(${endpoint.id}::uuid), '01800000-0000-7000-8000-000000000001', ${endpoint.id}::uuid, now() + interval '10 minutes')`,
      ]);
      await eventually(() => expect(toldOf()).toEqual(["endpoint.expired"]));
      await eventually(async () => {
        expect(await prisma.delivery.count({ where: { organizationId } })).toBe(0);
        expect(await prisma.businessEvent.count({ where: { organizationId } })).toBe(0);
      });

      const event = (data = {}) =>
        newEvent({ organizationId, type: "WorkItemCompleted", entityType: "WorkItem", entityId: ENTITY, data });
      const emit = () => emitter.emit(event());
      const deliveriesOf = async () => (await admin.get(endpoint.id)).deliveries;
      await emit();
      await eventually(async () => expect(await deliveriesOf()).toMatchObject([{ succeeded: true }]));
      expect(await admin.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({ succeeded: true });

      // A pause, what it misses, and a resume.
      await admin.edit(endpoint.id, { enabled: false });
      await emit();
      await admin.edit(endpoint.id, { enabled: true, rotateSecret: true });
      await eventually(async () => {
        const deliveries = await deliveriesOf();
        expect([deliveries.length, deliveries.every(({ succeeded }) => succeeded)]).toEqual([3, true]);
      });
      expect((await admin.find(`entityId=${ENTITY}`)).events).toHaveLength(2);

      // Failures, retries, the end.
      receiver.answerWith({ status: 500 });
      await emit();
      await eventually(async () => expect((await admin.get(endpoint.id)).enabled).toBe(false));
      const failed = ["endpoint.disabled", "endpoint.exhausted", "endpoint.expired", "endpoint.failing"];
      const edited = ["endpoint.resumed", "endpoint.secret_replaced"];
      await eventually(() => expect(toldOf()).toEqual([...failed, ...edited]));
      // Its missed delivery is sent again.
      await eventually(async () =>
        expect(await prisma.delivery.count({ where: { organizationId, state: "exhausted" } })).toBe(1),
      );
      receiver.answerWith({ status: 200 });
      await admin.edit(endpoint.id, { enabled: true });
      const { id: resendId } = await admin.call<Resend>("POST", `/${endpoint.id}/resends`, {});
      await eventually(async () => {
        const resend = await admin.read<Resend>(`/${endpoint.id}/resends/${resendId}`);
        expect(resend).toMatchObject({ state: "finished", succeeded: 1 });
      });
      await admin.call("POST", `/${endpoint.id}/resends/${resendId}/stop`);
      await admin.delete(endpoint.id);

      // An event that breaks the contract.
      const emitting = await connect(broker.url);
      const emitted = await emitting.createConfirmChannel();
      emitted.publish(names(broker.namespace).eventsExchange, "RiskCreated", Buffer.from("{"));
      await emitted.waitForConfirms();
      await emitting.close();
      // All of them, so that none comes while the next users are tried.
      const after = ["endpoint.resumed", "endpoint.deleted", "event.rejected"];
      await eventually(() => expect(toldOf()).toEqual([...failed, ...edited, ...after].sort()));
      await eventually(async () => {
        expect(await prisma.delivery.count({ where: { organizationId } })).toBe(0);
        expect(await prisma.due.count({ where: { endpointId: endpoint.id } })).toBe(0);
      });
    } finally {
      await emitter.close();
      await product.close();
      await Promise.all(running.splice(0).map((service) => service.stop()));
      await receiver?.close();
      receiver = undefined;
    }
  }, 240_000);
});

const ENTITY = "0190a1b2-0000-7000-8000-0000000000aa";

const REFUSED: [Role, string, string][] = [
  ...SERVICES.flatMap((role): [Role, string, string][] => [
    [role, "make a temporary table", "create temporary table x (y int)"],
    [role, "change what is recorded of migrations", "update _prisma_migrations set checksum = ''"],
    [role, "forget a migration", "delete from _prisma_migrations"],
    [role, "record a migration", "insert into _prisma_migrations default values"],
    [role, "switch off a table's triggers", "alter table delivery disable trigger all"],
  ]),
  ["herald_app", "change a table", "alter table delivery add column x int"],
  ["herald_app", "drop a table", "drop table delivery"],
  ["herald_app", "make a table", "create table x (y int)"],
  ["herald_app", "empty a table at once", "truncate delivery cascade"],
  ["herald_app", "read the server's files", "select pg_read_file('/etc/passwd')"],
  ["herald_app", "run programs", "copy webhook_endpoint to program 'cat'"],
  ["herald_app", "take another role", "set role pg_read_server_files"],
  ["herald_dispatcher", "delete endpoints", "delete from webhook_endpoint"],
  ["herald_dispatcher", "make endpoints", "insert into webhook_endpoint default values"],
  ["herald_dispatcher", "send deliveries elsewhere", "update webhook_endpoint set url = 'https://attacker.example'"],
  ["herald_dispatcher", "replace secrets", "update webhook_endpoint set sealed_secret = ''"],
  ["herald_dispatcher", "subscribe endpoints", "update webhook_endpoint set events = '{}'"],
  ["herald_dispatcher", "delete deliveries", "delete from delivery"],
  ["herald_dispatcher", "change what is sent", "update delivery set body = ''"],
  ["herald_dispatcher", "change events", "update business_event set body = ''"],
  ["herald_dispatcher", "erase attempts", "delete from delivery_attempt"],
  ["herald_dispatcher", "read notices", "select * from notice"],
  ["herald_dispatcher", "take back what it gave up", "delete from exhaustion"],
  ["herald_dispatcher", "make deliveries of contents of its own", "insert into delivery (body) values ('{}')"],
  ["herald_dispatcher", "erase endpoints", "insert into erasure default values"],
  ["herald_dispatcher", "start what an operator has stopped", "update shard set stopped_at = null"],
  ["herald_api", "make partitions", "select make_partitions(current_date, current_date + 1)"],
  ["herald_dispatcher", "make partitions", "select make_partitions(current_date, current_date + 1)"],
  ["herald_dispatcher", "drop a day of the history", "select drop_partitions(current_date)"],
  ["herald_publisher", "read secrets", "select sealed_secret from webhook_endpoint"],
  ["herald_publisher", "change endpoints", "update webhook_endpoint set enabled = false"],
  ["herald_publisher", "delete endpoints", "delete from webhook_endpoint"],
  ["herald_publisher", "change events", "update business_event set body = ''"],
  ["herald_publisher", "change what is sent", "update delivery set body = ''"],
  ["herald_publisher", "drop a partition itself", "drop table delivery_21900101"],
  ["herald_publisher", "change what became of an attempt", "update delivery set status_code = 200"],
  ["herald_publisher", "invent attempts", "insert into delivery_attempt default values"],
  ["herald_publisher", "stop dispatching", "update shard set stopped_at = now()"],
  ["herald_publisher", "take a shard", "update shard set owner = null"],
  ["herald_publisher", "start resends", "insert into resend default values"],
  ["herald_publisher", "say who started a resend", "update resend set name = ''"],
  ["herald_dispatcher", "read resends", "select * from resend"],
  ["herald_api", "start what an operator has stopped", "update shard set stopped_at = null"],
  ["herald_api", "read secrets", "select sealed_secret from webhook_endpoint"],
  ["herald_api", "get secrets back from a change", "update webhook_endpoint set name = name returning sealed_secret"],
  ["herald_api", "put a secret where it may read", "update webhook_endpoint set name = sealed_secret"],
  ["herald_api", "change deliveries", "update delivery set state = 'succeeded'"],
  ["herald_api", "change what waits", "update due set due_at = now()"],
  ["herald_api", "take what waits away", "delete from due"],
  ["herald_api", "erase the history", "delete from delivery"],
  ["herald_api", "drop a day of the history", "select drop_partitions(current_date)"],
  ["herald_api", "invent events", "insert into business_event default values"],
  ["herald_api", "change events", "update business_event set body = ''"],
  ["herald_api", "invent attempts", "insert into delivery_attempt default values"],
  ["herald_api", "change attempts", "update delivery_attempt set status_code = 200"],
  ["herald_api", "read notices", "select * from notice"],
  ["herald_api", "take notices away", "delete from notice"],
];

test.each(REFUSED)("the role %s can't %s", async (role, _what, sql) => {
  const database = openDatabase(postgres.url(role), { poolSize: 1 });
  try {
    await expect(database.queries.$executeRaw([sql] as unknown as TemplateStringsArray)).rejects.toMatchObject({
      code: expect.stringMatching(/^42501$/),
    });
  } finally {
    await database.close();
  }
});

test("the role herald_api can read every column of an endpoint but its secret", async () => {
  const unread = await owner.prisma.$queryRaw`
    select attname::text as "column"
    from pg_attribute
    where attrelid = 'webhook_endpoint'::regclass and attnum > 0 and not attisdropped
      and not has_column_privilege('herald_api', attrelid, attnum, 'select')`;
  expect(unread).toEqual([{ column: "sealed_secret" }]);
});

const refused = expect.objectContaining({ code: "42501" });

/**
 * A type of the caller that hides one of PostgreSQL's and has a check. If a function of the owner uses a value of that type, the check
 * runs as the owner.
 */
const attackOf = (role: Role, day: string) => `
  create function pg_temp.attack() returns boolean language plpgsql as $$ begin
    execute 'alter table public.endpoint_change add column if not exists attacked int';
    execute 'grant all on all tables in schema public to ${role}';
    return true;
  end $$;
  create domain pg_temp.text as pg_catalog.text check (pg_temp.attack());
  grant usage on type pg_temp.text to public;
  select public.make_partitions(date '${day}', date '${day}' + 1)`;

/** The error, if any. */
async function attack(role: Role, day: string): Promise<unknown> {
  const session = await openSession(postgres.url(role), { applicationName: "herald-test" });
  try {
    return await session.query(attackOf(role, day)).catch((error: unknown) => error);
  } finally {
    await session.close();
  }
}

async function isAttacked(): Promise<boolean> {
  const found = await owner.prisma.$queryRaw<unknown[]>`
    select from pg_attribute where attrelid = 'endpoint_change'::regclass and attname = 'attacked' and not attisdropped`;
  return found.length > 0;
}

test("no service becomes the tables' owner by a temporary type with a check, not even where it may make one", async () => {
  for (const role of SERVICES) expect([role, await attack(role, "2031-01-01")]).toEqual([role, refused]);
  await postgres.run("grant temporary on database herald to public");
  try {
    for (const role of ["herald_api", "herald_dispatcher"] as const)
      expect([role, await attack(role, "2031-01-02")]).toEqual([role, refused]);
    // Who may call the function makes a day's partitions with it, and no more.
    for (const [role, day] of [
      ["herald_app", "2031-01-03"],
      ["herald_publisher", "2031-01-04"],
    ] as const)
      expect([role, await attack(role, day)]).toEqual([role, undefined]);
    expect(await isAttacked()).toBe(false);
    // The attack is real: it succeeds if temporary objects are searched first.
    await postgres.run('alter function make_partitions(date, date) set search_path = "$user", public');
    await attack("herald_publisher", "2031-01-05");
    expect(await isAttacked()).toBe(true);
  } finally {
    await postgres.run("alter function make_partitions(date, date) set search_path = pg_catalog, public, pg_temp");
    await postgres.run("alter table endpoint_change drop column if exists attacked");
    await postgres.run("revoke temporary on database herald from public");
    await postgres.run("revoke all on all tables in schema public from herald_publisher");
    await migrate(postgres.url("herald_owner"));
  }
});

test.each(["herald_publisher", "herald_app"])("%s may read how far behind Herald is, for its metrics", async (role) => {
  const database = openDatabase(postgres.url(role), { poolSize: 1 });
  try {
    const lag = await readLag(database.queries, { now: new Date(), endpointConcurrency: 10 });
    expect(lag.endpointsQuarantined).toBe(0);
  } finally {
    await database.close();
  }
});
