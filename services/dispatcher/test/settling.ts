import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import { statementFailures } from "@herald/common/database/statement-failures";
import { answered, insertDelivery, type insertEndpoint, ROW_TIME } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import type { TestDatabase } from "@herald/dev/harness/use-database";
import { afterEach } from "@jest/globals";
import { createHealthQueue } from "../src/settle/health-queue.ts";
import { startRates } from "../src/settle/rates.ts";
import { createSettleQueue } from "../src/settle/settle-queue.ts";
import type { Settlement } from "../src/sql/settle.ts";
import { basics, SILENT } from "./basics.ts";

/** When the settlements of these tests happen. */
export const NOW = new Date(ROW_TIME.getTime() + 5_000);
export const RETRY_AT = new Date(NOW.getTime() + 60_000);
export const FAILING_AFTER = 3;
export const DISABLE_AFTER = 5;
/** Attempts that follow one another count at once. */
const PAUSES_MS = [0];

export type Endpoint = Awaited<ReturnType<typeof insertEndpoint>>;

/** An attempt under way, as its settlement names it. */
export interface UnderWay {
  deliveryId: string;
  epoch: number;
  attempt: number;
}

/** The epoch of every shard in these tests: no dispatcher has taken one. */
export const EPOCH = 0;
/** The epoch of an owner before. */
export const EARLIER = -1;

/** Deliveries whose attempts are under way, and how they end. */
export function settling(db: TestDatabase) {
  let elapsedMs = 0;
  let paceMs = 1_000;
  const begun: Array<() => Promise<void>> = [];
  afterEach(async () => {
    for (const stop of begun.splice(0)) await stop();
  });

  /** A delivery whose `attempt`-th attempt is under way. */
  async function underWay(endpoint: Endpoint, attempt = 1): Promise<UnderWay> {
    const ended = attempt === 1 ? {} : { attemptedAt: ROW_TIME, durationMs: 7, statusCode: 502 };
    const { id } = await insertDelivery(db.database.prisma, endpoint, {
      attemptCount: attempt - 1,
      ...ended,
      due: { dueAt: NOW },
    });
    return { deliveryId: id, epoch: EPOCH, attempt };
  }

  /** The queues of one dispatcher, on the test's database or on another way to it. */
  function dispatcher(queries: Queries = db.database.queries) {
    const lines: string[] = [];
    const stopping = new AbortController();
    const say = (line: string) => void lines.push(line);
    const log = { ...SILENT, info: say, warn: say, error: say };
    const clock = steeredClock(NOW);
    const failures = statementFailures(clock.monotonicMs);
    const { createProgress } = failures;
    const parts = basics({ queries, createProgress, clock, log, signal: stopping.signal });
    const { metrics } = parts;
    const health = createHealthQueue(parts, {
      pausesMs: PAUSES_MS,
      failingAfter: FAILING_AFTER,
      disableAfter: DISABLE_AFTER,
    });
    const rates = startRates(parts, { intervalMs: 60_000 });
    begun.push(rates.stop);
    const queue = createSettleQueue({ ...parts, health, rates });
    // As an owner does if it knows the health of the endpoint.
    const settle = (each: Settlement) => queue.settle(each, each.succeeded);
    const stop = () => stopping.abort();
    return { ...queue, settle, clock, failures, health, metrics, lines, writeRates: rates.stop, stop };
  }

  /** Settles these in one batch, and waits for the health that follows. */
  async function settleAll(settlements: readonly Settlement[]): Promise<void> {
    const { settle, health, writeRates } = dispatcher();
    await Promise.all(settlements.map(settle));
    await Promise.all([health.drained(), writeRates()]);
  }

  /** A time for an attempt that begins when the one before it has ended. */
  function nextStart(): Date {
    elapsedMs += paceMs;
    return new Date(NOW.getTime() + elapsedMs);
  }

  /** From now on, an attempt begins this long after the one before. */
  function pace(ms: number): void {
    paceMs = ms;
  }

  /** One batch that settles a first attempt of a new delivery for each of these, which followed one another. */
  async function settleRun(endpoint: Endpoint, successes: readonly boolean[]): Promise<Settlement[]> {
    const settlements: Settlement[] = [];
    for (const succeeded of successes) {
      settlements.push(settlement(endpoint, await underWay(endpoint), { succeeded, startedAt: nextStart() }));
    }
    await settleAll(settlements);
    return settlements;
  }

  const endpointOf = (id: string) => db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });

  return { underWay, dispatcher, nextStart, pace, settleAll, settleRun, endpointOf };
}

/** Statements that lock one row. */
export const lockOf = {
  endpoint: ({ id }: Endpoint) => Prisma.sql`select 1 from webhook_endpoint where id = ${id}::uuid for update`,
  delivery: ({ deliveryId }: UnderWay) => Prisma.sql`select 1 from delivery where id = ${deliveryId}::uuid for update`,
  due: ({ deliveryId }: UnderWay) => Prisma.sql`select 1 from due where delivery_id = ${deliveryId}::uuid for update`,
};

export function settlement(endpoint: Endpoint, underWay: UnderWay, override: Partial<Settlement> = {}): Settlement {
  const succeeded = override.succeeded ?? true;
  return {
    ...underWay,
    endpointId: endpoint.id,
    revision: endpoint.revision,
    startedAt: NOW,
    durationMs: 12,
    ...answered(succeeded),
    nextAttemptAt: succeeded ? null : RETRY_AT,
    ...override,
  };
}

/** Statements whose answer is lost once each: PostgreSQL carries them out, and the caller gets an error of the connection. */
export function losingAnswers(queries: Queries, isLost: (text: string) => boolean): Queries {
  const lost = new Set<string>();
  function lose(strings: TemplateStringsArray): void {
    const text = strings.join("?");
    if (!isLost(text) || lost.has(text)) return;
    lost.add(text);
    throw new Error("Connection terminated unexpectedly");
  }
  return {
    async $queryRaw<T>(strings: TemplateStringsArray, ...values: unknown[]) {
      const rows = await queries.$queryRaw<T>(strings, ...values);
      lose(strings);
      return rows;
    },
    async $executeRaw(strings, ...values) {
      const count = await queries.$executeRaw(strings, ...values);
      lose(strings);
      return count;
    },
  };
}
