import { randomUUID } from "node:crypto";
import { deliveryId, eventKey } from "@herald/common/database/ids";
import type { Database } from "@herald/common/database/open-database";
import { shardOf } from "@herald/common/database/shards";
import { OPERATOR } from "@herald/common/database/trail";
import { updateEndpoint } from "@herald/common/database/update-endpoint";
import type { Log } from "@herald/common/telemetry/log";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { answered, insertEndpoint } from "@herald/dev/harness/rows";
import type { SteeredClock } from "@herald/dev/harness/steered-clock";
import { retrySchedule } from "@herald/dispatcher/endpoint/retry-schedule";
import { createMetrics as dispatcherMetrics } from "@herald/dispatcher/metrics";
import { createHealthQueue } from "@herald/dispatcher/settle/health-queue";
import { createSettleQueue } from "@herald/dispatcher/settle/settle-queue";
import { type Delivery, describeDeliveries } from "@herald/dispatcher/sql/describe-deliveries";
import { heartbeat, releaseShards } from "@herald/dispatcher/sql/heartbeat";
import { BEGINNING, markInterrupted, readDue } from "@herald/dispatcher/sql/read-due";
import { deleteEndpointRow } from "@herald/management-api/sql/delete-endpoint";
import { createFanOut, type FanOut } from "@herald/publisher/event/fan-out";
import { createMetrics as publisherMetrics } from "@herald/publisher/metrics";
import type { IncomingEvent } from "@herald/publisher/sql/rows";
import { createCatchUp } from "@herald/publisher/tasks/catch-up";
import { DISABLE_AFTER, type ModelEvent, PAUSES, PER_ENDPOINT } from "./model.ts";

const WINDOW_MS = 7 * 24 * 60 * 60_000;
const schedule = retrySchedule([60_000, 120_000, 240_000, 480_000]);

/** Failures that Herald reports fail the test by what they do to its state; a history of thousands of lines does not help. */
const silent: Log = { isDebug: false, debug() {}, info() {}, warn() {}, error() {} };

/** An attempt under way, or one whose dispatcher died. */
export interface Attempt extends Delivery {
  epoch: number;
  revision: bigint;
  startedAt: Date;
}

/**
 * Two publishers and two dispatchers on one database, without broker and receivers: the history says what is read, who owns the endpoints
 * and how attempts end. The numbers of events and endpoints are the model's.
 */
export class Herald {
  readonly #database: Database;
  readonly #clock: SteeredClock;
  readonly #organizationId = randomUUID();
  readonly #eventIds: string[] = [];
  readonly #eventKeys: string[] = [];
  readonly #endpointIds: string[] = [];
  readonly #stopping = new AbortController();
  /** The epoch of all shards before the history: each take-over takes all of them. */
  #epochBefore: number | undefined;
  readonly #publishers;
  readonly #dispatchers;

  constructor(database: Database, clock: SteeredClock) {
    this.#database = database;
    this.#clock = clock;
    this.#publishers = [0, 1].map(() => this.#publisher());
    this.#dispatchers = [0, 1].map(() => this.#dispatcher());
  }

  async create(endpoint: number, events: readonly string[]): Promise<void> {
    const { prisma } = this.#database;
    const now = this.#clock.now();
    const row = await insertEndpoint(prisma, {
      organizationId: this.#organizationId,
      events: [...events],
      createdAt: now,
      updatedAt: now,
    });
    await prisma.catchUp.create({ data: { endpointId: row.id, dueAt: now } });
    this.#endpointIds[endpoint] = row.id;
  }

  async edit(endpoint: number, { enabled, types }: { enabled: boolean; types: readonly string[] }): Promise<void> {
    const { revision } = await this.#row(endpoint);
    const now = this.#clock.now();
    const edited = await updateEndpoint(this.#database.queries, {
      id: this.#endpointId(endpoint),
      organizationId: this.#organizationId,
      revision,
      name: "Edited",
      url: "https://receiver.test/edited",
      enabled,
      events: [...types],
      sealedSecret: null,
      author: OPERATOR,
      now,
      catchUpAgainAt: now,
    });
    if (!edited) throw new Error(`Endpoint ${endpoint} could not be edited in revision ${revision}.`);
  }

  async delete(endpoint: number): Promise<void> {
    const { revision } = await this.#row(endpoint);
    const now = this.#clock.now();
    const key = { id: this.#endpointId(endpoint), organizationId: this.#organizationId };
    await deleteEndpointRow(this.#database.queries, key, { revision, author: OPERATOR, now, until: now });
  }

  /** The same event by as many publishers at once. */
  async emit(event: number, { type, occurredAt }: ModelEvent, publishers: number): Promise<void> {
    this.#eventIds[event] ??= randomUUID();
    const id = this.#eventIds[event] as string;
    const organizationId = this.#organizationId;
    const key = eventKey(organizationId, id, new Date(occurredAt));
    this.#eventKeys[event] = key;
    const incoming = {
      organizationId,
      key,
      id,
      type,
      entityId: id,
      occurredAt: new Date(occurredAt),
      receivedAt: this.#clock.now(),
      body: "{}",
      traceparent: null,
    };
    await Promise.all(this.#publishers.slice(0, publishers).map(({ fanOut }) => fanOutWhole(fanOut, incoming)));
  }

  /** This dispatcher becomes the owner of everything, after the one before has given it up, or has died. */
  async takeOver(dispatcher: number, { crashed }: { crashed: boolean }): Promise<void> {
    const { prisma, queries } = this.#database;
    const [own, other] = [this.#dispatcherAt(dispatcher).id, this.#dispatcherAt(1 - dispatcher).id];
    // Its life is over by PostgreSQL's clock; so is that of all dispatchers of other histories.
    await prisma.process.updateMany({ where: { id: { not: own } }, data: { aliveUntil: new Date(0) } });
    const shards = Array.from({ length: 256 }, (_, shard) => shard);
    if (!crashed) for (const id of [own, other]) await releaseShards(queries, id, shards);
    // Its own shards it would keep, in the epoch in which it has them.
    if (crashed) await prisma.shard.updateMany({ where: { owner: own }, data: { owner: other } });
    this.#epochBefore ??= Number((await prisma.shard.findFirstOrThrow()).epoch);
    const alone = { able: true, outageSince: null, wanting: true };
    const options = { id: own, aliveMs: 3_600_000, newOwnerMs: 0, ...alone };
    const { taken } = await heartbeat(queries, options);
    if (taken.length !== 256) throw new Error(`The dispatcher has taken ${taken.length} of 256 shards.`);
    if (!crashed) return;
    const alive = await prisma.webhookEndpoint.findMany({ where: { organizationId: this.#organizationId } });
    const now = this.#clock.now();
    await markInterrupted(
      queries,
      alive.map(({ id }) => id),
      { perEndpoint: PER_ENDPOINT, now, spreadMs: 0 },
    );
  }

  async catchUp(publishers: number): Promise<void> {
    const { signal } = this.#stopping;
    await Promise.all(this.#publishers.slice(0, publishers).map(({ catchUp }) => catchUp(signal)));
  }

  /** The owner begins the attempts of the first due deliveries of these endpoints. */
  async begin(endpoints: readonly number[], count: number): Promise<Attempt[]> {
    const { prisma, queries } = this.#database;
    const epochs = new Map((await prisma.shard.findMany()).map(({ id, epoch }) => [id, Number(epoch)]));
    const demands = endpoints.map((endpoint) => {
      const endpointId = this.#endpointId(endpoint);
      const shard = shardOf(endpointId);
      return { endpointId, shard, epoch: epochs.get(shard) ?? -1, count, after: BEGINNING };
    });
    const now = this.#clock.now();
    const due = (await readDue(queries, demands)).filter(({ dueAt }) => dueAt <= now);
    const deliveries = await describeDeliveries(queries, due);
    const enabled = await prisma.webhookEndpoint.findMany({ where: { enabled: true } });
    const revisions = new Map(enabled.map(({ id, revision }) => [id, revision]));
    return deliveries.flatMap((delivery) => {
      const revision = revisions.get(delivery.endpointId);
      const epoch = epochs.get(shardOf(delivery.endpointId)) ?? -1;
      return revision === undefined ? [] : [{ ...delivery, revision, epoch, startedAt: now }];
    });
  }

  /** Settles results in one batch, and then the health of their endpoints. */
  async settle(dispatcher: number, results: readonly { attempt: Attempt; succeeded: boolean }[]): Promise<void> {
    const { settlements, health } = this.#dispatcherAt(dispatcher);
    const endedAt = this.#clock.now();
    await Promise.all(
      results.map(({ attempt, succeeded }) =>
        settlements.settle(
          {
            ...attempt,
            attempt: attempt.attempts + 1,
            durationMs: endedAt.getTime() - attempt.startedAt.getTime(),
            ...answered(succeeded),
            nextAttemptAt: succeeded ? null : schedule.nextAttemptAt(attempt.attempts + 1, endedAt),
          },
          succeeded,
        ),
      ),
    );
    await health.drained();
  }

  /** The model's name of a delivery: "event/endpoint". */
  keyOf({ deliveryId: id }: Pick<Attempt, "deliveryId">): string {
    for (const [key, known] of this.#deliveryIds()) if (known === id) return key;
    throw new Error(`Delivery ${id} is of no event and endpoint of the history.`);
  }

  /** How many take-overs the history had seen when the attempt began. */
  takenInEpoch({ epoch }: Attempt): number {
    return epoch - (this.#epochBefore ?? 0);
  }

  /** Herald's id of a delivery of the model. */
  idOf(key: string): string {
    const id = new Map(this.#deliveryIds()).get(key);
    if (id === undefined) throw new Error(`The history has made no ${key}.`);
    return id;
  }

  /** The stored rows, in the model's words. */
  async state() {
    const { prisma } = this.#database;
    const where = { organizationId: this.#organizationId };
    const names = new Map([...this.#deliveryIds()].map(([key, id]) => [id, key]));
    const endpoints = await prisma.webhookEndpoint.findMany({ where });
    const alive = endpoints.map(({ id }) => id);
    const rows = await prisma.delivery.findMany({ where: { ...where, endpointId: { in: alive } } });
    const due = await prisma.due.findMany({ where: { endpointId: { in: alive } } });
    const dueOf = new Map(due.map((row) => [row.deliveryId, row]));
    const counted = await prisma.$queryRaw<{ id: string; attempts: number }[]>`
      select delivery_id as id, count(*)::int as attempts from attempt
      where delivery_id = any (${rows.map(({ id }) => id)}::uuid[]) group by 1`;
    const attempts = new Map(counted.map((row) => [row.id, row.attempts]));
    return {
      endpoints: endpoints
        .map(({ id, enabled, consecutiveFailures }) => [this.#endpointIds.indexOf(id), enabled, consecutiveFailures])
        .sort(),
      deliveries: rows
        .map(({ id, state, attemptCount }) => {
          const { dueAt = null, interruptions = null } = dueOf.get(id) ?? {};
          const counted = attempts.get(id) ?? 0;
          return [
            names.get(id) ?? id,
            state,
            attemptCount,
            counted,
            dueAt !== null,
            dueAt?.getTime() ?? null,
            interruptions,
          ];
        })
        .sort(),
    };
  }

  /** Ends the history: what it has stored is of no concern to the next one. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#database.prisma.$executeRaw`
      with gone as (delete from webhook_endpoint), idle as (delete from catch_up), erased as (delete from erasure),
        told as (delete from notice), given_up as (delete from exhaustion)
      delete from due`;
  }

  #publisher() {
    const { queries, failures } = this.#database;
    const metrics = publisherMetrics(createRegistry("histories"));
    const parts = { queries, createProgress: failures.createProgress, clock: this.#clock, metrics, log: silent };
    const options = { pageSize: 3, windowMs: WINDOW_MS, leaseMs: 120_000 };
    return {
      fanOut: createFanOut({ ...parts, signal: this.#stopping.signal }, { maxEvents: 100 }),
      catchUp: createCatchUp({ ...parts, handOver: () => {} }, options),
    };
  }

  #dispatcher() {
    const metrics = dispatcherMetrics(createRegistry("histories"));
    const { signal } = this.#stopping;
    const parts = {
      queries: this.#database.queries,
      createProgress: this.#database.failures.createProgress,
      clock: this.#clock,
      metrics,
      log: silent,
      signal,
    };
    const health = createHealthQueue(parts, { pausesMs: PAUSES, failingAfter: 1, disableAfter: DISABLE_AFTER });
    return {
      /** The id of its row of `process`. */
      id: randomUUID(),
      health,
      settlements: createSettleQueue({ ...parts, rates: { add() {}, stop: async () => {} }, health }),
    };
  }

  #dispatcherAt(index: number) {
    const dispatcher = this.#dispatchers[index];
    if (!dispatcher) throw new Error(`There is no dispatcher ${index}.`);
    return dispatcher;
  }

  *#deliveryIds(): Iterable<[string, string]> {
    for (const [event, key] of this.#eventKeys.entries()) {
      if (key === undefined) continue;
      for (const [endpoint, id] of this.#endpointIds.entries()) yield [`${event}/${endpoint}`, deliveryId(key, id)];
    }
  }

  #endpointId(endpoint: number): string {
    const id = this.#endpointIds[endpoint];
    if (id === undefined) throw new Error(`The history has made no endpoint ${endpoint}.`);
    return id;
  }

  #row(endpoint: number) {
    return this.#database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: this.#endpointId(endpoint) } });
  }
}

/** As the consumer of events does it: page after page, until every endpoint has its delivery. */
async function fanOutWhole(fanOut: FanOut, event: IncomingEvent): Promise<void> {
  for (let afterEndpointId: string | undefined; ; ) {
    const { outcomes } = await fanOut.together([{ event, ...(afterEndpointId && { afterEndpointId }) }]);
    const [outcome] = outcomes;
    if (outcome?.kind === "stored") return;
    if (outcome?.kind !== "unfinished") throw new Error(`An event could not be stored: ${JSON.stringify(outcome)}`);
    afterEndpointId = outcome.afterEndpointId;
  }
}
