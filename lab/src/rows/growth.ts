import { randomUUID } from "node:crypto";
import { eventKey, firstIdAt } from "@herald/common/database/ids";
import { type Database, openDatabase } from "@herald/common/database/open-database";
import { SHARDS, shardOf } from "@herald/common/database/shards";
import { answered } from "@herald/dev/harness/rows";
import { describeDeliveries } from "@herald/dispatcher/sql/describe-deliveries";
import { type Heartbeat, heartbeat } from "@herald/dispatcher/sql/heartbeat";
import { BEGINNING, readDue } from "@herald/dispatcher/sql/read-due";
import { settle } from "@herald/dispatcher/sql/settle";
import { findEndpointsWithWork } from "@herald/dispatcher/sql/sweep";
import { type ApiClient, apiClient } from "@herald/e2e/herald/api-client";
import { median } from "@herald/e2e/statistics";
import { backfill } from "@herald/publisher/sql/backfill";
import { FIRST_ENDPOINT, storeEvents } from "@herald/publisher/sql/store-events";
import type { BenchEnvironment } from "../environment.ts";
import type { FigureKind, Row } from "../row.ts";
import { SAMPLE_BODY } from "../row.ts";
import { inDatabase, storeFinished } from "./stored.ts";

/** Of the organization that has all deliveries; others have as many endpoints each, and none. */
const ENDPOINTS = 100;
const ALL_ENDPOINTS = 10_000;
const FEW = 10_000;
const DAYS = 14;
const DAY_MS = 24 * 60 * 60_000;
const BATCH = 250;
const WARM_UP = 30;
/** As many shards as one statement of a sweep looks through. */
const SHARDS_AT_ONCE = 32;

const STEPS = ["heartbeat", "store", "sweep", "read", "settle", "catchUp", "list"] as const;
type Step = (typeof STEPS)[number];
const LABELS: Record<Step, string> = {
  heartbeat: "a dispatcher's heartbeat",
  store: `storing ${BATCH} events with their deliveries`,
  sweep: `a sweep over ${SHARDS} shards`,
  read: `reading ${BATCH} due deliveries`,
  settle: `settling ${BATCH} attempts`,
  catchUp: "a page of a catch-up",
  list: "GET /webhooks",
};

/**
 * Whether what Herald does all the time costs more the more it has done: with a long history stored, against a short one; and
 * the same while a transaction stays open on the long one, so that nothing which dies meanwhile can be vacuumed. Each
 * history has a database of its own; statements go to both by turns, so that whatever else the machine does hits both.
 */
export const growthRow: Row = {
  name: "growth",
  title: "The same work with a long history stored",
  figures: Object.fromEntries(STEPS.flatMap(figuresOf)),
  grows: true,
  async open(environment, { growth, seconds, progress }) {
    const short = await openHistory(environment, FEW, progress);
    const long = await openHistory(environment, growth, progress);
    for (let index = 0; index < WARM_UP; index++) {
      await short.work();
      await long.work();
    }

    /** The median of each step, with the short history and with the long one. */
    async function byTurns() {
      const measured = { short: [] as Record<Step, number>[], long: [] as Record<Step, number>[] };
      const end = performance.now() + seconds * 1_000;
      while (performance.now() < end) {
        measured.short.push(await short.work());
        measured.long.push(await long.work());
      }
      return (history: keyof typeof measured, step: Step) => median(measured[history].map((each) => each[step]));
    }

    return {
      conditions: `${FEW.toLocaleString("en")} finished deliveries, and ${growth.toLocaleString("en")}, with 1.05 attempts each, over ${DAYS} days, of ${ENDPOINTS} of ${ALL_ENDPOINTS.toLocaleString("en")} endpoints; ${seconds} s`,
      async round() {
        const free = await byTurns();
        const open = await long.withTransactionOpen(byTurns);
        return Object.fromEntries(
          STEPS.flatMap((step) => [
            [`${step}Short`, free("short", step)],
            [`${step}Long`, free("long", step)],
            [`${step}Ratio`, free("long", step) / free("short", step)],
            [`${step}OpenRatio`, open("long", step) / open("short", step)],
          ]),
        );
      },
      async close() {
        await short.close();
        await long.close();
      },
    };
  },
};

function figuresOf(step: Step): [string, FigureKind][] {
  return [
    [`${step}Short`, { label: `${LABELS[step]}, short history`, unit: "ms" }],
    [`${step}Long`, { label: `${LABELS[step]}, long history`, unit: "ms" }],
    [`${step}Ratio`, { label: "  the one to the other", unit: "x", bar: { atMost: 1.1 } }],
    [`${step}OpenRatio`, { label: "  with a transaction open", unit: "x", bar: { atMost: 1.2 } }],
  ];
}

interface History {
  /** A batch of events on its way from the broker to its end, and what goes on beside it: milliseconds of each. */
  work(): Promise<Record<Step, number>>;
  /** Runs the task while another program's transaction, which began before it, keeps a snapshot. */
  withTransactionOpen<T>(task: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

async function openHistory(
  environment: BenchEnvironment,
  deliveries: number,
  progress: (text: string) => void,
): Promise<History> {
  const herald = await environment.openHerald("growth");
  const api = await herald.start("management-api");
  const admin = await apiClient(`http://127.0.0.1:${api.port}`, randomUUID(), { keepAlive: true });
  await storeFinished(herald, {
    organizationId: admin.organizationId,
    endpoints: ENDPOINTS,
    otherEndpoints: ALL_ENDPOINTS - ENDPOINTS,
    deliveries,
    days: DAYS,
    progress,
  });
  const database = openDatabase(herald.databaseUrl, { statementTimeoutMs: 600_000 });
  const [first] = await admin.list();
  const catchUp = { endpointId: first?.id ?? "", leasedUntil: new Date(Date.now() + DAY_MS) };
  await database.queries.$executeRaw`
    insert into catch_up (endpoint_id, due_at) values (${catchUp.endpointId}::uuid, ${catchUp.leasedUntil})`;
  const epochs = new Map<number, number>();
  /** A dispatcher that owns all shards. */
  const owner = { id: randomUUID(), aliveMs: DAY_MS, able: true, outageSince: null, wanting: true, place: null };
  for (const { shard, epoch } of (await heartbeat(database.queries, owner)).taken) epochs.set(shard, epoch);
  return {
    work: () => work({ database, admin, catchUp, owner, epochs }),
    withTransactionOpen: (task) =>
      inDatabase(herald, async (client) => {
        await client.query("begin isolation level repeatable read");
        await client.query("select count(*) from due");
        return await task();
      }),
    async close() {
      await database.close();
      await herald.close();
    },
  };
}

interface Worker {
  database: Database;
  admin: ApiClient;
  catchUp: { endpointId: string; leasedUntil: Date };
  owner: Heartbeat;
  /** In which the owner has the shards. */
  epochs: ReadonlyMap<number, number>;
}

async function work({ database: { queries }, admin, catchUp, owner, epochs }: Worker): Promise<Record<Step, number>> {
  const measured: Partial<Record<Step, number>> = {};
  async function timed<T>(step: Step, task: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const result = await task();
    measured[step] = performance.now() - startedAt;
    return result;
  }
  const epochOf = (shard: number) => epochs.get(shard) ?? Number.NaN;
  const now = new Date();
  const windowStart = new Date(now.getTime() - 7 * DAY_MS);
  const events = Array.from({ length: BATCH }, () => randomUUID()).map((id) => ({
    organizationId: admin.organizationId,
    key: eventKey(admin.organizationId, id, now),
    id,
    // Of the endpoints one is subscribed to it: an event is one delivery, as it mostly is.
    type: "RiskCreated" as const,
    entityId: id,
    occurredAt: now,
    receivedAt: now,
    body: SAMPLE_BODY,
    traceparent: null,
  }));
  const pages = events.map((event) => ({ event, afterEndpointId: FIRST_ENDPOINT, maxEndpoints: ENDPOINTS }));
  await timed("heartbeat", () => heartbeat(queries, owner));
  const { made } = await timed("store", () => storeEvents(queries, pages, now));
  await timed("sweep", async () => {
    for (let first = 0; first < SHARDS; first += SHARDS_AT_ONCE) {
      const shards = Array.from({ length: SHARDS_AT_ONCE }, (_, index) => first + index);
      await findEndpointsWithWork(queries, shards, now);
    }
  });
  const endpointIds = new Set([...made.deliveries, ...made.work].map(({ endpointId }) => endpointId));
  const demands = [...endpointIds].map((endpointId) => {
    const shard = shardOf(endpointId);
    return { endpointId, shard, epoch: epochOf(shard), count: BATCH, after: BEGINNING };
  });
  const deliveries = await timed("read", async () => describeDeliveries(queries, await readDue(queries, demands)));
  if (deliveries.length !== BATCH) throw new Error(`${deliveries.length} deliveries were read instead of ${BATCH}.`);
  const settlements = deliveries.map(({ deliveryId, endpointId, dueAt, attempts }) => ({
    deliveryId,
    endpointId,
    dueAt,
    epoch: epochOf(shardOf(endpointId)),
    attempt: attempts + 1,
    // For the endpoint's health, which is not written here.
    revision: 1n,
    startedAt: now,
    durationMs: 5,
    ...answered(true),
    nextAttemptAt: null,
  }));
  const late = await timed("settle", () => settle(queries, settlements));
  if (late.length > 0) throw new Error(`${late.length} of ${BATCH} attempts were not settled.`);
  const work = { ...catchUp, after: firstIdAt(windowStart) };
  // The same lease again and again, so that each page is the first one.
  const bounds = { pageSize: 1_000, now, renewedUntil: catchUp.leasedUntil };
  await timed("catchUp", () => backfill(queries, work, bounds));
  await timed("list", () => admin.list());
  return measured as Record<Step, number>;
}
