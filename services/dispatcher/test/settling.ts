import { insertDelivery, type insertEndpoint, ROW_TIME } from "@herald/testkit/harness/rows";
import type { TestDatabase } from "@herald/testkit/harness/use-database";
import { type Settlement, settle } from "../src/sql/settle.ts";

/** When the settlements of these tests happen. */
export const NOW = new Date(ROW_TIME.getTime() + 5_000);
export const RETRY_AT = new Date(NOW.getTime() + 60_000);
export const FAILING_AFTER = 3;
export const DISABLE_AFTER = 5;

export type Endpoint = Awaited<ReturnType<typeof insertEndpoint>>;

/** Deliveries that are claimed, and how they end. */
export function settling(db: TestDatabase) {
  async function claimedDelivery(endpoint: Endpoint, attempt = 1): Promise<{ id: string; nextAttemptAt: Date | null }> {
    return await insertDelivery(db.database.prisma, endpoint, {
      attemptCount: attempt,
      inFlight: true,
      nextAttemptAt: new Date(NOW.getTime() + 60_000),
    });
  }

  async function settleAll(settlements: Settlement[], thresholds = {}) {
    return await settle(db.database.queries, settlements, {
      now: NOW,
      failingAfter: FAILING_AFTER,
      disableAfter: DISABLE_AFTER,
      ...thresholds,
    });
  }

  /** One call that settles a first attempt of a new delivery for each of these. */
  async function settleRun(endpoint: Endpoint, successes: readonly boolean[], thresholds = {}) {
    const settlements: Settlement[] = [];
    for (const succeeded of successes) {
      const { id } = await claimedDelivery(endpoint);
      settlements.push(settlement(endpoint, id, { succeeded }));
    }
    return { settlements, changed: await settleAll(settlements, thresholds) };
  }

  return { claimedDelivery, settleAll, settleRun };
}

export function settlement(endpoint: Endpoint, deliveryId: string, override: Partial<Settlement> = {}): Settlement {
  const succeeded = override.succeeded ?? true;
  return {
    deliveryId,
    endpointId: endpoint.id,
    attempt: 1,
    revision: endpoint.revision,
    startedAt: NOW,
    durationMs: 12,
    statusCode: succeeded ? 204 : 500,
    succeeded,
    errorSummary: succeeded ? null : "receiver answered 500",
    failureKind: succeeded ? null : "http_status",
    responseExcerpt: null,
    traceparent: null,
    nextAttemptAt: succeeded ? null : RETRY_AT,
    ...override,
  };
}
