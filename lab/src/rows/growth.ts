import { randomUUID } from "node:crypto";
import { eventKey, firstIdAt } from "@herald/common/database/ids";
import { type Database, openDatabase } from "@herald/common/database/open-database";
import { claim } from "@herald/dispatcher/sql/claim";
import { findDueEndpoints } from "@herald/dispatcher/sql/find-due-endpoints";
import { settle } from "@herald/dispatcher/sql/settle";
import { type ApiClient, apiClient } from "@herald/e2e/herald/api-client";
import { median, quantile } from "@herald/e2e/statistics";
import { backfill } from "@herald/publisher/sql/backfill";
import { FIRST_ENDPOINT, storeEvents } from "@herald/publisher/sql/store-events";
import type { BenchEnvironment } from "../environment.ts";
import type { FigureKind, Row } from "../row.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import { inDatabase } from "./stored-backlog.ts";
import { storeFinished } from "./stored-history.ts";

/** Of the organization that has all deliveries; others have as many endpoints each, and none. */
const ENDPOINTS = 100;
const ALL_ENDPOINTS = 10_000;
const FEW = 10_000;
const DAYS = 14;
const DAY_MS = 24 * 60 * 60_000;
const BATCH = 250;
const WARM_UP = 30;
/** Endpoints that one statement of a due scan probes. */
const LOOK = 5_000;

const STEPS = ["store", "claim", "settle", "due", "catchUp", "list"] as const;
type Step = (typeof STEPS)[number];
const LABELS: Record<Step, string> = {
  store: `storing ${BATCH} events with their deliveries`,
  claim: `claiming ${BATCH} deliveries`,
  settle: `settling ${BATCH} attempts`,
  due: `looking for due deliveries of ${LOOK} endpoints`,
  catchUp: "a page of a catch-up",
  list: "GET /webhooks",
};

/** What support asks of the whole history, each time for an id that nobody asked for before; and within how many milliseconds. */
const SEARCHES = {
  byEvent: { label: "a search by an event's id", atMost: 50 },
  byEntity: { label: "a search by an entity's id", atMost: 50 },
  byDelivery: { label: "a search by a delivery's id", atMost: 50 },
  event: { label: "an event with its body, and what became of it at each endpoint", atMost: 100 },
} as const;
type Search = keyof typeof SEARCHES;
const SEARCH_NAMES = Object.keys(SEARCHES) as Search[];

/**
 * Whether what Herald does all the time costs more the more it has done: with a long history stored, against a short one; and
 * the same while a transaction stays open on the long one, so that nothing which dies meanwhile can be vacuumed. Each
 * history has a database of its own; statements go to both by turns, so that whatever else the machine does hits both.
 */
export const growthRow: Row = {
  name: "growth",
  title: "The same work with a long history stored",
  figures: Object.fromEntries([...STEPS.flatMap(figuresOf), ...SEARCH_NAMES.map(figureOfSearch)]),
  grows: true,
  async open(environment, { growth, seconds, progress }) {
    const short = await openHistory(environment, FEW, progress);
    const long = await openHistory(environment, growth, progress).catch(async (error) => {
      await short.close();
      throw error;
    });
    for (let index = 0; index < WARM_UP; index++) {
      await short.work();
      await long.work();
    }
    return {
      conditions: {
        "finished deliveries, short": FEW,
        "finished deliveries, long": growth,
        "attempts a delivery": 1.05,
        days: DAYS,
        "endpoints with deliveries": ENDPOINTS,
        endpoints: ALL_ENDPOINTS,
        seconds,
      },
      async round() {
        async function byTurns() {
          const [ofShort, ofLong] = [times(), times()];
          const end = performance.now() + seconds * 1_000;
          while (performance.now() < end) {
            add(ofShort, await short.work());
            add(ofLong, await long.work());
          }
          return { ofShort, ofLong };
        }
        const { ofShort, ofLong } = await byTurns();
        const held = await long.withTransactionOpen(byTurns);
        const searched = await long.search(seconds);
        return Object.fromEntries([
          ...STEPS.flatMap((step) => {
            const [before, after] = [median(ofShort[step]), median(ofLong[step])];
            return [
              [`${step}Short`, before],
              [`${step}Long`, after],
              [`${step}Ratio`, after / before],
              [`${step}HeldRatio`, median(held.ofLong[step]) / median(held.ofShort[step])],
            ] as const;
          }),
          ...SEARCH_NAMES.map((name) => [name, quantile(searched[name], 0.95)] as const),
        ]);
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
    [`${step}HeldRatio`, { label: "  with a transaction open", unit: "x", bar: { atMost: 1.2 } }],
  ];
}

function figureOfSearch(name: Search): [string, FigureKind] {
  const { label, atMost } = SEARCHES[name];
  return [name, { label: `${label}, long history, p95`, unit: "ms", bar: { atMost } }];
}

function times(): Record<Step, number[]> {
  return { store: [], claim: [], settle: [], due: [], catchUp: [], list: [] };
}

function add(to: Record<Step, number[]>, measured: Record<Step, number>): void {
  for (const step of STEPS) to[step].push(measured[step]);
}

interface History {
  /** A batch of events on its way from the broker to its end, and the looks that go on beside it: milliseconds of each. */
  work(): Promise<Record<Step, number>>;
  /** Searches for stored events, one after the other, for this many seconds: milliseconds of each search. */
  search(seconds: number): Promise<Record<Search, number[]>>;
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
  const database = openDatabase(herald.databaseUrl, { statementTimeoutMs: 600_000 });
  const close = async () => {
    await database.close();
    await herald.close();
  };
  try {
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
    const [first] = await admin.list();
    const leasedUntil = new Date(Date.now() + DAY_MS);
    const catchUp = { endpointId: first?.id ?? "", leasedUntil };
    await database.queries.$executeRaw`
      insert into catch_up (endpoint_id, due_at) values (${catchUp.endpointId}::uuid, ${leasedUntil})`;
    return {
      work: () => work({ database, admin, catchUp }),
      search: (seconds) => search(database, admin, seconds),
      withTransactionOpen: (task) =>
        inDatabase(herald, async (client) => {
          await client.query("begin isolation level repeatable read");
          await client.query("select count(*) from due");
          return await task();
        }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Worker {
  database: Database;
  admin: ApiClient;
  catchUp: { endpointId: string; leasedUntil: Date };
}

async function work({ database: { queries }, admin, catchUp }: Worker): Promise<Record<Step, number>> {
  const measured: Partial<Record<Step, number>> = {};
  async function timed<T>(step: Step, task: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const result = await task();
    measured[step] = performance.now() - startedAt;
    return result;
  }
  const now = new Date();
  const later = new Date(now.getTime() + 30_000);
  const windowStart = new Date(now.getTime() - 7 * DAY_MS);
  const events = Array.from({ length: BATCH }, () => randomUUID()).map((id) => ({
    organizationId: admin.organizationId,
    key: eventKey(admin.organizationId, id, now),
    id,
    // Of the endpoints one is subscribed to it: an event is one delivery, as it mostly is.
    type: "RiskCreated" as const,
    entityId: id,
    occurredAt: now,
    body: SAMPLE_BODY,
    traceparent: null,
  }));
  const pages = events.map((event) => ({ event, afterEndpointId: FIRST_ENDPOINT, maxEndpoints: ENDPOINTS }));
  const { hints } = await timed("store", () => storeEvents(queries, pages, now));
  const ready = [...new Set(hints.map(({ endpointId }) => endpointId))];
  const since = new Date(now.getTime() - 10_000);
  const demands = ready.map((endpointId) => ({ endpointId, count: BATCH, since }));
  const claimId = randomUUID();
  const claimed = await timed("claim", () => claim(queries, demands, { now, leasedUntil: later, claimId }));
  if (claimed.length !== BATCH) throw new Error(`${claimed.length} deliveries were claimed instead of ${BATCH}.`);
  await timed("due", () => findDueEndpoints(queries, { now, since, known: [], after: null, limit: LOOK }));
  await timed("settle", () =>
    settle(
      queries,
      claimed.map(({ deliveryId, endpointId, attempt, revision }) => ({
        deliveryId,
        endpointId,
        claimId,
        attempt,
        revision,
        startedAt: now,
        durationMs: 5,
        statusCode: 204,
        succeeded: true,
        errorSummary: null,
        failureKind: null,
        responseExcerpt: null,
        traceparent: null,
        nextAttemptAt: null,
        retryAfterMs: null,
        manual: false,
      })),
    ),
  );
  const work = { ...catchUp, after: firstIdAt(windowStart) };
  // The same lease again and again, so that each page is the first one.
  const bounds = { pageSize: 1_000, now, renewedUntil: catchUp.leasedUntil };
  await timed("catchUp", () => backfill(queries, work, bounds));
  await timed("list", () => admin.list());
  return measured as Record<Step, number>;
}

/** Of each kind of search; more than a round has time for. */
const SEARCHES_A_ROUND = 2_000;

/** Searches for what came at random times of all days, so that hardly any search finds its pages read by the one before. */
async function search({ queries }: Database, admin: ApiClient, seconds: number): Promise<Record<Search, number[]>> {
  const now = Date.now();
  const keys = Array.from({ length: SEARCHES_A_ROUND }, () => firstIdAt(new Date(now - Math.random() * DAYS * DAY_MS)));
  const events = await queries.$queryRaw<{ key: string; id: string; entityId: string; deliveryId: string }[]>`
    select event.key, event.id, event.entity_id as "entityId", delivery.id as "deliveryId"
    from unnest(${keys}::uuid[]) as sought (key)
    cross join lateral (
      select key, id, entity_id from business_event
      where organization_id = ${admin.organizationId} and business_event.key >= sought.key
      order by key limit 1
    ) as event
    cross join lateral (
      select id from delivery where delivery.id >= sought.key order by delivery.id limit 1
    ) as delivery`;
  const measured: Record<Search, number[]> = { byEvent: [], byEntity: [], byDelivery: [], event: [] };
  async function timed(name: Search, found: () => Promise<boolean>) {
    const startedAt = performance.now();
    const isFound = await found();
    measured[name].push(performance.now() - startedAt);
    if (!isFound) throw new Error(`${SEARCHES[name].label} found nothing.`);
  }
  async function finds(query: string) {
    return (await admin.find(query)).events.length > 0;
  }
  const end = performance.now() + seconds * 1_000;
  for (const { key, id, entityId, deliveryId } of events) {
    if (performance.now() > end) break;
    await timed("byEvent", () => finds(`id=${id}`));
    await timed("byEntity", () => finds(`entityId=${entityId}`));
    await timed("byDelivery", () => finds(`deliveryId=${deliveryId}`));
    await timed("event", async () => (await admin.event(key)).body !== "");
  }
  return measured;
}
