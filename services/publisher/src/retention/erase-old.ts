import { setTimeout as sleep } from "node:timers/promises";
import { firstIdAt } from "@herald/common/database/first-id-at";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import { eraseDeliveries } from "../sql/erase-deliveries.ts";
import { eraseEvents } from "../sql/erase-events.ts";
import type { EventCursor } from "../sql/fill-gaps.ts";
import { findOrganizations } from "../sql/find-organizations.ts";

export interface RetentionOptions {
  /** How long a delivery is kept after its last attempt, in milliseconds. */
  keepDeliveriesMs: number;
  /** How long an event is kept after it occurred, in milliseconds; longer than any catch-up reaches back. */
  keepEventsMs: number;
  /** Rows read per statement. */
  pageSize: number;
}

export interface Erased {
  deliveries: number;
  events: number;
}

/** Organizations that one statement passes. */
const ORGANIZATIONS_PER_LOOK = 1_000;

/**
 * Erases what is too old: finished deliveries with their attempts, then events that no delivery needs any more. It goes
 * through everything old once, in small steps, and rests after each for as long as it took, so that it takes half of
 * one connection at the most. Several processes at once do each other no harm: each skips what another one erases.
 *
 * `onErased` is told after each step. Resolves when there is nothing left, or after the step under way when `signal` aborts.
 */
export async function eraseOld(
  { queries, clock, log }: { queries: Queries; clock: Clock; log: Log },
  { keepDeliveriesMs, keepEventsMs, pageSize }: RetentionOptions,
  { onErased, signal }: { onErased: (erased: Partial<Erased>) => void; signal: AbortSignal },
): Promise<Erased> {
  const now = clock.now().getTime();
  const erased: Erased = { deliveries: 0, events: 0 };
  await eraseOldDeliveries(new Date(now - keepDeliveriesMs));
  await eraseOldEvents(new Date(now - keepEventsMs));
  if (erased.deliveries + erased.events > 0) log.info("erased what was too old", { ...erased });
  return erased;

  async function eraseOldDeliveries(endedBefore: Date): Promise<void> {
    const before = firstIdAt(endedBefore);
    let after: string | null = ZERO_UUID;
    while (after !== null && !signal.aborted) {
      const page = await resting(() =>
        eraseDeliveries(queries, { after: after as string, before, endedBefore, pageSize }),
      );
      erased.deliveries += page.erasedCount;
      onErased({ deliveries: page.erasedCount });
      after = page.rowCount === pageSize ? page.lastId : null;
    }
  }

  async function eraseOldEvents(occurredBefore: Date): Promise<void> {
    let after: string | undefined = "";
    while (after !== undefined && !signal.aborted) {
      const limit = ORGANIZATIONS_PER_LOOK;
      const passed = await resting(() => findOrganizations(queries, { after: after as string, occurredBefore, limit }));
      for (const { organizationId, isOld } of passed) if (isOld) await eraseEventsOf(organizationId, occurredBefore);
      after = passed.length === limit ? passed.at(-1)?.organizationId : undefined;
    }
  }

  async function eraseEventsOf(organizationId: string, occurredBefore: Date): Promise<void> {
    let cursor: EventCursor | null = null;
    for (let rowCount = pageSize; rowCount === pageSize && !signal.aborted; ) {
      const page = await resting(() =>
        eraseEvents(queries, { organizationId, after: cursor, occurredBefore, pageSize }),
      );
      ({ rowCount, cursor } = page);
      erased.events += page.erasedCount;
      onErased({ events: page.erasedCount });
    }
  }

  async function resting<T>(step: () => Promise<T>): Promise<T> {
    const begun = performance.now();
    const result = await step();
    await sleep(performance.now() - begun, undefined, { signal }).catch(() => undefined);
    return result;
  }
}

const ZERO_UUID = "00000000-0000-0000-0000-000000000000";
