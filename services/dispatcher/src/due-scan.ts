import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import { findDueEndpoints } from "./sql/find-due-endpoints.ts";
import { park } from "./sql/park.ts";

/** Deliveries that one statement parks. */
const PARK_PAGE_SIZE = 1_000;

/**
 * Searches PostgreSQL for endpoints with due deliveries (retries, deliveries whose hint was lost, unparked deliveries) and
 * hands them to the backlog, page by page, until it has passed them all. Deliveries of disabled endpoints are parked, so
 * that later scans need not pass them.
 */
export async function dueScan(
  { queries, clock }: { queries: Queries; clock: Clock },
  { pageSize, onDue }: { pageSize: number; onDue: (endpointId: string) => void },
  signal: AbortSignal,
): Promise<void> {
  let after: string | null = null;
  do {
    const now = clock.now();
    const { enabled, disabled, next } = await findDueEndpoints(queries, { now, after, limit: pageSize });
    for (const endpointId of enabled) onDue(endpointId);
    if (disabled.length > 0) await parkAll(disabled, now);
    after = next;
  } while (after !== null && !signal.aborted);

  async function parkAll(endpointIds: readonly string[], now: Date): Promise<void> {
    let parked = PARK_PAGE_SIZE;
    while (parked === PARK_PAGE_SIZE && !signal.aborted) {
      parked = await park(queries, { endpointIds, now, pageSize: PARK_PAGE_SIZE });
    }
  }
}
