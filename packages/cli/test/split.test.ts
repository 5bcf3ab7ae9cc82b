import { randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bucketOf, readBuckets } from "@herald/common/broker/cell";
import { declareTopology, names } from "@herald/common/broker/topology";
import { migrate } from "@herald/common/database/migrate";
import { type Database, openDatabase } from "@herald/common/database/open-database";
import type { Queries } from "@herald/common/database/queries";
import { eventually } from "@herald/dev/harness/eventually";
import { insertDelivery, insertEndpoint, insertResend } from "@herald/dev/harness/rows";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { withClient } from "@herald/dev/stack/postgres";
import { type PostgresPair, startPostgresPair } from "@herald/dev/stack/postgres-pair";
import { removePostgresData } from "@herald/dev/stack/postgres-programs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { startDispatching } from "../src/dispatch/dispatch-state.ts";
import { assertFollows, readServer } from "../src/split/servers.ts";
import { type Sides, split } from "../src/split/split.ts";
import { callHerald, type Outcome } from "./run-herald.ts";

const KEPT = readBuckets("0-7");
const GIVEN = readBuckets("8-f");
const NOW = new Date();

/** A primary with its standby, of each test or group alone, since a standby is promoted once. */
function usePair(): { pair: () => PostgresPair; primary: () => Database; standby: () => Database } {
  const folder = mkdtempSync(join(tmpdir(), "herald-split-"));
  let servers: PostgresPair | undefined;
  const databases: Database[] = [];
  beforeAll(async () => {
    servers = await startPostgresPair({
      folder,
      pidFolder: join(folder, "pids"),
      disposable: true,
      synchronous: false,
    });
    await migrate(servers.primary.url);
    const primary = openDatabase(servers.primary.url);
    databases.push(primary, openDatabase(servers.standby.url));
    await primary.queries.$queryRaw`select make_partitions('1970-01-01', '2200-01-01')`;
  }, STACK_TIMEOUT_MS);
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.close()));
    await servers?.standby.remove();
    await servers?.primary.remove();
    removePostgresData(folder);
  }, STACK_TIMEOUT_MS);
  return {
    pair: () => servers as PostgresPair,
    primary: () => databases[0] as Database,
    standby: () => databases[1] as Database,
  };
}

function organizationIn(buckets: readonly string[]): string {
  for (let number = 0; ; number++) if (buckets.includes(bucketOf(`org-${number}`))) return `org-${number}`;
}

/** An endpoint of an organization, with a row in each table that leads to work. */
async function insertWork({ prisma }: Database, organizationId: string): Promise<string> {
  const endpoint = await insertEndpoint(prisma, { organizationId });
  const { id: endpointId } = endpoint;
  await insertDelivery(prisma, endpoint);
  await insertResend(prisma, endpoint);
  await prisma.catchUp.create({ data: { endpointId, dueAt: NOW } });
  await prisma.digest.create({ data: { endpointId, state: "exhausted", madeAt: NOW } });
  const told = { organizationId, endpointId, endpointName: "n", endpointUrl: "https://receiver.test" };
  await prisma.exhaustion.create({ data: { ...told, state: "exhausted", deliveries: 1, firstAt: NOW, lastAt: NOW } });
  await prisma.notice.create({ data: { ...told, type: "failing", occurredAt: NOW, publishAt: NOW } });
  return endpointId;
}

/** What a database has of work, by the endpoints that it is of. */
async function workOf({ prisma }: Database) {
  const ids = async (rows: Promise<{ endpointId: string | null }[]>) =>
    (await rows).map(({ endpointId }) => endpointId as string).sort();
  const ofAll = { select: { endpointId: true } } as const;
  return {
    endpoints: (await prisma.webhookEndpoint.findMany()).map(({ id }) => id).sort(),
    due: await ids(prisma.due.findMany(ofAll)),
    resends: await ids(prisma.resend.findMany(ofAll)),
    catchUps: await ids(prisma.catchUp.findMany(ofAll)),
    digests: await ids(prisma.digest.findMany(ofAll)),
    exhaustions: await ids(prisma.exhaustion.findMany(ofAll)),
    notices: await ids(prisma.notice.findMany(ofAll)),
    deliveries: await ids(prisma.delivery.findMany(ofAll)),
  };
}

const broker = useBroker();
const other = useDatabase();
/** Of the refusals, and then of the split that dies. */
const first = usePair();
const second = usePair();

function environmentOf({ primary, standby }: PostgresPair): Record<string, string> {
  return {
    DATABASE_URL: primary.url,
    STANDBY_DATABASE_URL: standby.url,
    AMQP_URL: broker.url,
    BROKER_NAMESPACE: broker.namespace,
    INBOX_BUCKETS: "0-7",
    CELL: "a",
  };
}

/** As a user with the rights of herald_app alone, who is made by a test of refusals. */
const asApp = (url: string) => Object.assign(new URL(url), { username: "app", password: "app" }).href;

describe("herald split refuses, and leaves all as it was:", () => {
  const { pair, primary, standby } = first;
  let environment: Record<string, string>;
  beforeEach(() => {
    environment = environmentOf(pair());
  });
  afterEach(async () => {
    expect(await readServer(standby().queries)).toMatchObject({ inRecovery: true });
    expect(await readServer(primary().queries)).toMatchObject({ stoppedSince: null });
  });

  const run = (...args: string[]): Promise<Outcome> => callHerald(["split", ...args], environment);
  const runSql = (url: string, sql: string) => withClient(url, (client) => client.query(sql));
  async function refuses(words: RegExp, ...args: string[]): Promise<void> {
    expect(await run(...(args.length > 0 ? args : ["8-f"]))).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(words),
    });
  }

  test("buckets that this cell keeps", async () => {
    await refuses(/INBOX_BUCKETS has 6, 7 too\. Take what the new cell gets out of it/, "6-f");
  });

  test("endpoints of a bucket that neither side would have", async () => {
    const endpoint = await insertEndpoint(primary().prisma, { organizationId: organizationIn(["9"]) });
    await refuses(/endpoints of the buckets 9, which neither/, "8,a-f");
    await primary().prisma.webhookEndpoint.delete({ where: { id: endpoint.id } });
  });

  test("a database that is no copy of the primary's", async () => {
    environment.STANDBY_DATABASE_URL = other.url;
    await refuses(/no copy of that of DATABASE_URL by replication/);
  });

  test("the two the wrong way round, and twice the same", async () => {
    environment = { ...environment, DATABASE_URL: pair().standby.url, STANDBY_DATABASE_URL: pair().primary.url };
    await refuses(/DATABASE_URL names a standby/);
    environment.DATABASE_URL = pair().primary.url;
    await refuses(/are they the same server/);
  });

  test("a standby of another server", async () => {
    const sides = { primary: primary().queries, standby: standby().queries };
    const state = await readServer(sides.primary);
    await assertFollows(sides, state, true);
    await expect(assertFollows(sides, { ...state, timeline: "00000009" }, true)).rejects.toThrow(
      /follows another server/,
    );
  });

  test("a server that is not there", async () => {
    environment.STANDBY_DATABASE_URL = "postgres://herald@127.0.0.1:1/herald";
    await refuses(/PostgreSQL at 127\.0\.0\.1:1 can't be used/);
  });

  test.each(["primary", "standby"] as const)("services that are connected to the %s", async (side) => {
    const service = openDatabase(pair()[side].url, { applicationName: "herald-publisher", poolSize: 1 });
    await service.queries.$queryRaw`select`;
    try {
      await refuses(
        new RegExp(`connected to the ${side}: herald-publisher \\(1\\)\\. Stop all of the cell's services`),
      );
    } finally {
      await service.close();
    }
  });

  test.each(["3", "c"])("a publisher that takes events of bucket %s", async (bucket) => {
    const connection = await connect(broker.url);
    const channel = await connection.createConfirmChannel();
    await declareTopology(channel, broker.namespace);
    await channel.consume(names(broker.namespace).inboxQueues[Number.parseInt(bucket, 16)] as string, () => {});
    try {
      await refuses(new RegExp(`1 publishers take events of bucket ${bucket}`));
    } finally {
      await connection.close();
    }
  });

  test("a standby that does not stream", async () => {
    const { url } = pair().standby;
    const [{ conninfo } = { conninfo: "" }] = await standby().queries.$queryRaw<{ conninfo: string }[]>`
      select current_setting('primary_conninfo') as conninfo`;
    const follow = async (whom: string, receivers: number) => {
      await runSql(url, `alter system set primary_conninfo = '${whom}'`);
      await runSql(url, "select pg_reload_conf()");
      await eventually(async () => {
        const rows = await standby().queries.$queryRaw`select pid from pg_stat_wal_receiver where status = 'streaming'`;
        expect(rows).toHaveLength(receivers);
      });
    };
    await follow("", 0);
    try {
      await refuses(/does not stream from its primary/);
    } finally {
      await follow(conninfo, 1);
    }
  });

  test("a standby that lacks much", async () => {
    await runSql(pair().standby.url, "select pg_wal_replay_pause()");
    await runSql(pair().primary.url, "select pg_logical_emit_message(false, 'test', repeat('x', 20 * 1024 * 1024))");
    try {
      await refuses(/The standby lacks \d+ MiB of the primary's log/);
    } finally {
      await runSql(pair().standby.url, "select pg_wal_replay_resume()");
      await eventually(async () => {
        const state = await readServer(primary().queries);
        await assertFollows({ primary: primary().queries, standby: standby().queries }, state, true);
      });
    }
  });

  test("a primary whose commits wait for standbys", async () => {
    const { url } = pair().primary;
    await runSql(url, "alter system set synchronous_standby_names = 'herald_standby'");
    await runSql(url, "select pg_reload_conf()");
    try {
      await eventually(() => refuses(/synchronous_standby_names is herald_standby/));
    } finally {
      await runSql(url, "alter system reset synchronous_standby_names");
      await runSql(url, "select pg_reload_conf()");
    }
  });

  test("a user who may not promote, or not see whether the standby streams", async () => {
    await runSql(
      pair().primary.url,
      "create role app login password 'app'; grant select, insert, update, delete on all tables in schema public to app",
    );
    environment.DATABASE_URL = asApp(pair().primary.url);
    environment.STANDBY_DATABASE_URL = asApp(pair().standby.url);
    await eventually(() => refuses(/app may not promote the standby\. .* grant execute on function pg_promote to app/));
    await refuses(/grant pg_read_all_stats to app/, "8-f", "--by-hand");
  });

  test("dispatching that is stopped already, and stays so", async () => {
    const stoppedAt = new Date(Date.now() - 60_000);
    await primary().prisma.shard.updateMany({ data: { stoppedAt } });
    try {
      await refuses(
        /stopped since .*, and nothing was split yet\. .*"herald dispatch start".*If a restore is under way, end it first/,
      );
      expect(await readServer(primary().queries)).toMatchObject({ stoppedSince: stoppedAt });
    } finally {
      await startDispatching(primary().queries);
    }
  });

  test("a standby that gets no further: dispatching goes on", async () => {
    const dies = { ...optionsOf(), assertUnserved: async () => {} };
    const sides: Sides = {
      primary: primary().queries,
      standby: failing(standby().queries, /pg_last_wal_replay_lsn\(\) >=/),
    };
    await expect(split(sides, dies)).rejects.toThrow(/cut off/);
  });
});

function optionsOf(given = GIVEN, kept = KEPT) {
  return { kept, given, byHand: false, assertUnserved: async () => {}, onProgress: () => {} };
}

/** Fails at a statement, and at none before. */
function failing(queries: Queries, statement: RegExp): Queries {
  const watched =
    <Run extends (text: TemplateStringsArray, ...values: unknown[]) => unknown>(run: Run) =>
    (text: TemplateStringsArray, ...values: unknown[]) => {
      if (statement.test(text.join(""))) throw new Error("cut off");
      return run(text, ...values);
    };
  return { $queryRaw: watched(queries.$queryRaw), $executeRaw: watched(queries.$executeRaw) } as Queries;
}

/** The process of these two dies before its nth statement: from then on it does nothing, not even tidy up. */
function dyingAt(nth: number, { primary, standby }: Sides): Sides & { isDead: () => boolean } {
  let statements = 0;
  const mortal = <Run extends (...args: never[]) => unknown>(run: Run) =>
    ((...args) => {
      statements += 1;
      if (statements >= nth) throw new Error("dead");
      return run(...args);
    }) as Run;
  const of = ({ $queryRaw, $executeRaw }: Queries): Queries => ({
    $queryRaw: mortal($queryRaw) as Queries["$queryRaw"],
    $executeRaw: mortal($executeRaw) as Queries["$executeRaw"],
  });
  return { primary: of(primary), standby: of(standby), isDead: () => statements >= nth };
}

describe("a split", () => {
  const { pair, primary, standby } = first;

  test(
    "dies before each of its statements, and is called again: no endpoint is ever served by both sides, or by neither",
    async () => {
      const [stays, goes] = [
        await insertWork(primary(), organizationIn(KEPT)),
        await insertWork(primary(), organizationIn(GIVEN)),
      ];
      await primary().queries.$executeRaw`grant execute on function pg_promote to app`;
      await primary().queries.$executeRaw`grant pg_read_all_stats to app`;
      const { primary: there, standby: here } = pair();
      const apps = [openDatabase(asApp(there.url)), openDatabase(asApp(here.url))] as const;
      const sides = { primary: apps[0].queries, standby: apps[1].queries };
      /** Endpoints that a dispatcher of this side would attempt: none while it is stopped, and none of a standby. */
      const served = async ({ queries, prisma }: Database) => {
        const { inRecovery } = await readServer(queries);
        if (inRecovery || (await prisma.shard.count({ where: { stoppedAt: null } })) === 0) return [];
        return (await prisma.webhookEndpoint.findMany()).map(({ id }) => id);
      };
      const told: string[] = [];
      let wasInRecovery = true;
      let deaths = 0;
      for (let nth = 1; ; nth++) {
        const mortal = dyingAt(nth, sides);
        const error = await split(mortal, optionsOf()).then(
          () => undefined,
          (reason: Error) => reason,
        );
        const both = [...(await served(primary())), ...(await served(standby()))];
        expect(new Set(both).size).toBe(both.length);
        const known = [...(await workOf(primary())).endpoints, ...(await workOf(standby())).endpoints];
        expect(new Set(known)).toEqual(new Set([stays, goes]));
        if (error === undefined) break;
        if (mortal.isDead()) deaths += 1;
        else {
          // Its words are heeded, and what they say is enough.
          told.push(error.message);
          expect(error.message).toContain("herald dispatch start");
          await startDispatching(primary().queries);
        }
        const { inRecovery } = await readServer(sides.standby);
        // From here on another part of it runs, which dies at each of its statements too.
        if (inRecovery !== wasInRecovery) nth = 0;
        wasInRecovery = inRecovery;
      }
      expect(wasInRecovery).toBe(false);
      expect(deaths).toBeGreaterThan(20);
      expect(told).toContainEqual(expect.stringContaining("nothing was split yet"));
      expect(told).toContainEqual(expect.stringContaining("The cell is split, but dispatching"));
      await Promise.all(apps.map((database) => database.close()));
      const own = (id: string) => ({ endpoints: [id], due: [id], resends: [id], catchUps: [id], digests: [id] });
      const history = { deliveries: [stays, goes].sort() };
      // The first cell tells what there was to tell of all; the history goes as it grows old.
      const tells = { exhaustions: [stays, goes].sort(), notices: [stays, goes].sort() };
      expect(await workOf(primary())).toEqual({ ...own(stays), ...history, ...tells });
      expect(await workOf(standby())).toEqual({ ...own(goes), ...history, exhaustions: [], notices: [] });
    },
    STACK_TIMEOUT_MS,
  );

  test("called again with other buckets, when it was over, deletes nothing", async () => {
    const before = [await workOf(primary()), await workOf(standby())];
    const sides = { primary: primary().queries, standby: standby().queries };
    await expect(split(sides, optionsOf(readBuckets("0-7"), readBuckets("8-f")))).rejects.toThrow(
      /was promoted, but not by a split/,
    );
    expect([await workOf(primary()), await workOf(standby())]).toEqual(before);
  });
});

describe("a split that was cut off behind the promotion", () => {
  const { pair, primary, standby } = second;
  const sides = (): Sides => ({ primary: primary().queries, standby: standby().queries });

  test("waits for a dispatcher that died until it counts as dead, and for a promotion by hand", async () => {
    await insertWork(primary(), organizationIn(GIVEN));
    // More than a page, of endpoints that neither side has.
    await primary().queries.$executeRaw`
      insert into due (endpoint_id, due_at, delivery_id)
      select gen_random_uuid(), now() - number * interval '1 second', gen_random_uuid()
      from generate_series(1, 2500) as number`;
    const owner = randomUUID();
    await primary().prisma.process.create({
      data: { id: owner, service: "dispatcher", able: true, aliveUntil: new Date(Date.now() + 3_600_000) },
    });
    await primary().prisma.shard.update({ where: { id: 7 }, data: { owner } });
    const said = new Set<string>();
    const onProgress = (text: string) => {
      if (said.has(text)) return;
      said.add(text);
      if (text.startsWith("waits until 1 dispatcher")) {
        void primary()
          .prisma.process.update({ where: { id: owner }, data: { aliveUntil: new Date(0) } })
          .catch(() => {});
      }
      if (text.startsWith("waits until you have promoted")) {
        void withClient(pair().standby.url, (client) => client.query("select pg_promote(false)")).catch(() => {});
      }
      if (text.startsWith("each side forgets")) throw new Error("cut off");
    };
    await expect(split(sides(), { ...optionsOf(), byHand: true, onProgress })).rejects.toThrow("cut off");
    expect([...said].map((text) => text.slice(0, 20))).toEqual(
      expect.arrayContaining(["waits until 1 dispat", "promotes the standby", "waits until you have"]),
    );
  });

  test("refuses other buckets, by which a side would forget what the other does not have", async () => {
    await primary().prisma.webhookEndpoint.deleteMany();
    await expect(split(sides(), optionsOf(readBuckets("0-7"), readBuckets("8-f")))).rejects.toThrow(
      /forget endpoints that the other one does not have/,
    );
    expect(await standby().prisma.webhookEndpoint.count()).toBe(1);
  });

  test("goes on when it is called again, says how long dispatching was stopped and what comes next, and may be called once more", async () => {
    const run = () => callHerald(["split", "8-f"], environmentOf(pair()));
    const outcome = await run();
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    expect(outcome.stdout).toMatch(/^The cell is split\. Dispatching was stopped for \d+\.\d\d s\.\n/);
    expect(outcome.stdout).toContain("the new one with INBOX_BUCKETS=8,9,a,b,c,d,e,f");
    expect(await standby().prisma.webhookEndpoint.count()).toBe(1);
    expect([await primary().prisma.due.count(), await standby().prisma.due.count()]).toEqual([0, 1]);
    expect((await run()).stdout).toMatch(/^The cell had been split before/);
  });
});
