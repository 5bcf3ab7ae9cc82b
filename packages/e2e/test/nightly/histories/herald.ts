import { randomUUID } from "node:crypto";
import { OPERATOR } from "@herald/common/database/endpoint-change";
import { deliveryId, eventKey } from "@herald/common/database/ids";
import type { Database } from "@herald/common/database/open-database";
import { updateEndpoint } from "@herald/common/database/update-endpoint";
import type { Log } from "@herald/common/telemetry/log";
import { createRegistry } from "@herald/common/telemetry/metrics";
import type { Hint } from "@herald/contracts";
import { insertEndpoint } from "@herald/dev/harness/rows";
import type { SteeredClock } from "@herald/dev/harness/steered-clock";
import { createClaims } from "@herald/dispatcher/delivery/claim-queue";
import { retrySchedule } from "@herald/dispatcher/delivery/retry-schedule";
import { createSettleQueue } from "@herald/dispatcher/delivery/settle-queue";
import { createHealthQueue } from "@herald/dispatcher/health/health-queue";
import { createHinted } from "@herald/dispatcher/lanes/hinted";
import { createMetrics as dispatcherMetrics } from "@herald/dispatcher/metrics";
import type { ClaimedDelivery } from "@herald/dispatcher/sql/claimed-delivery";
import { moveHinted } from "@herald/dispatcher/sql/move-hinted";
import { deleteEndpointRow } from "@herald/management-api/sql/delete-endpoint";
import { createCatchUp } from "@herald/publisher/catch-up";
import { createFanOut, type FanOut } from "@herald/publisher/fan-out";
import type { IncomingEvent } from "@herald/publisher/ingest/read-event";
import { createMetrics as publisherMetrics } from "@herald/publisher/metrics";
import { DISABLE_AFTER, LEASE, type ModelEvent, PATIENCE } from "./model.ts";

const WINDOW_MS = 7 * 24 * 60 * 60_000;
const schedule = retrySchedule([60_000, 120_000, 240_000, 480_000]);

/** Failures that Herald reports fail the test by what they do to its state; a history of thousands of lines helps nobody. */
const silent: Log = { isDebug: false, debug() {}, info() {}, warn() {}, error() {} };

/** An attempt under way, or one whose dispatcher died. */
export type Attempt = ClaimedDelivery;

/**
 * Two publishers and two dispatchers on one database, without broker and receivers: the history says what is claimed and how
 * it ends. The numbers of events and endpoints are the model's.
 */
export class Herald {
  readonly #database: Database;
  readonly #clock: SteeredClock;
  readonly #organizationId = randomUUID();
  readonly #eventIds: string[] = [];
  readonly #eventKeys: string[] = [];
  readonly #endpointIds: string[] = [];
  readonly #stopping = new AbortController();
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
    const [id, organizationId] = [this.#endpointId(endpoint), this.#organizationId];
    const author = OPERATOR;
    await deleteEndpointRow(this.#database.queries, { id, organizationId, revision, author, now, eraseUntil: now });
  }

  /** The same event by as many publishers at once. Returns the hints that deliveries are leased to. */
  async emit(event: number, { type, occurredAt }: ModelEvent, publishers: number): Promise<Hint[]> {
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
      body: "{}",
      traceparent: null,
    };
    const hints = this.#publishers.slice(0, publishers).map(({ fanOut }) => fanOutWhole(fanOut, incoming));
    return (await Promise.all(hints)).flat().filter(({ delivery }) => delivery !== undefined);
  }

  /** A dispatcher that knows the endpoint gets a hint, and begins an attempt that takes longer than the hint's lease. */
  async takeHint(dispatcher: number, hint: Hint): Promise<Attempt> {
    const { hinted } = this.#dispatcherAt(dispatcher);
    const { endpointId, delivery } = hint;
    const { revision, url, sealedSecret } = await this.#database.prisma.webhookEndpoint.findUniqueOrThrow({
      where: { id: endpointId },
    });
    hinted.learn([{ endpointId, revision, url, sealedSecret } as ClaimedDelivery]);
    const attempt = delivery && hinted.read(hint, delivery);
    if (!attempt) throw new Error("A hint that is just sent leads to no attempt.");
    await moveHinted(this.#database.queries, [attempt.deliveryId], { dueAt: attempt.leasedUntil, held: true });
    return attempt;
  }

  /** A dispatcher that can't make the attempt gets a hint. */
  async refuseHint(dispatcher: number, { delivery }: Hint): Promise<void> {
    await this.#dispatcherAt(dispatcher).hinted.giveBack(delivery?.deliveryId ?? "");
  }

  async catchUp(publishers: number): Promise<void> {
    const { signal } = this.#stopping;
    await Promise.all(this.#publishers.slice(0, publishers).map(({ catchUp }) => catchUp(signal)));
  }

  claim(dispatcher: number, endpoints: readonly number[], count: number): Promise<Attempt[]> {
    const { claims } = this.#dispatcherAt(dispatcher);
    return claims.due(endpoints.map((endpoint) => ({ endpointId: this.#endpointId(endpoint), count })));
  }

  claimInterrupted(dispatcher: number, endpoint: number): Promise<Attempt | undefined> {
    return this.#dispatcherAt(dispatcher).claims.interrupted(this.#endpointId(endpoint));
  }

  /** Settles results in one batch, and then the health of their endpoints. */
  async settle(dispatcher: number, results: readonly { attempt: Attempt; succeeded: boolean }[]): Promise<void> {
    const { settle, health } = this.#dispatcherAt(dispatcher);
    const endedAt = this.#clock.now();
    await Promise.all(
      results.map(({ attempt, succeeded }) =>
        settle({
          ...attempt,
          startedAt: new Date(attempt.leasedUntil.getTime() - LEASE),
          durationMs: endedAt.getTime() - attempt.leasedUntil.getTime() + LEASE,
          statusCode: succeeded ? 200 : 500,
          succeeded,
          errorSummary: succeeded ? null : "HTTP 500",
          failureKind: succeeded ? null : "http_status",
          responseExcerpt: null,
          traceparent: null,
          nextAttemptAt: succeeded ? null : schedule.nextAttemptAt(attempt.attempt, endedAt),
          retryAfterMs: null,
          manual: false,
        }),
      ),
    );
    await health.drained();
  }

  /** The model's name of a delivery: "event/endpoint". */
  keyOf({ deliveryId: id }: Pick<Attempt, "deliveryId">): string {
    for (const [key, known] of this.#deliveryIds()) if (known === id) return key;
    throw new Error(`Delivery ${id} is of no event and endpoint of the history.`);
  }

  endpointOf({ endpointId }: Attempt): number {
    return this.#endpointIds.indexOf(endpointId);
  }

  /** What is stored, in the model's words. */
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
          const waits = dueOf.get(id);
          const free = waits?.claimId === null ? waits.dueAt.getTime() : null;
          return [names.get(id) ?? id, state, attemptCount, attempts.get(id) ?? 0, waits !== undefined, free];
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
    const parts = { queries: this.#database.queries, clock: this.#clock, log: silent };
    const options = { pageSize: 3, windowMs: WINDOW_MS, leaseMs: 120_000 };
    return {
      fanOut: createFanOut({ ...parts, signal: this.#stopping.signal }, { maxEvents: 100 }),
      catchUp: createCatchUp(
        { ...parts, metrics: publisherMetrics(createRegistry("histories")), hint: () => {} },
        options,
      ),
    };
  }

  #dispatcher() {
    const metrics = dispatcherMetrics(createRegistry("histories"));
    const { signal } = this.#stopping;
    const parts = {
      queries: this.#database.queries,
      clock: this.#clock,
      metrics,
      tracing: undefined,
      log: silent,
      signal,
    };
    const health = createHealthQueue(parts, { pausesMs: PATIENCE, failingAfter: 1, disableAfter: DISABLE_AFTER });
    return {
      claims: createClaims(parts, { leaseMs: LEASE, since: () => new Date(0) }),
      hinted: createHinted(parts, { leaseMs: LEASE }),
      health,
      settle: createSettleQueue({ ...parts, health }),
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
async function fanOutWhole(fanOut: FanOut, event: IncomingEvent): Promise<Hint[]> {
  const sent: Hint[] = [];
  for (let afterEndpointId: string | undefined; ; ) {
    const { outcomes, hints } = await fanOut.together([{ event, ...(afterEndpointId && { afterEndpointId }) }]);
    sent.push(...hints);
    const [outcome] = outcomes;
    if (outcome?.kind === "stored") return sent;
    if (outcome?.kind !== "unfinished") throw new Error(`An event could not be stored: ${JSON.stringify(outcome)}`);
    afterEndpointId = outcome.afterEndpointId;
  }
}
