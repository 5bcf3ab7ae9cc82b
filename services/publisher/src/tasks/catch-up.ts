import { firstIdAt } from "@herald/common/database/ids";
import { backfill, type CatchUp, takeCatchUp } from "../sql/backfill.ts";
import { DAY_MS } from "./partitions.ts";
import { byTurns, type MakingParts, type TurnOptions } from "./task.ts";

/** The guard begins this long before the end of the last pass: it also looks at events that were stored behind the pass's cursor. */
const GUARD_OVERLAP_MS = DAY_MS;

/**
 * Gives every endpoint whose catch-up is due the deliveries that it missed while it was disabled, not subscribed, or not yet visible to a fan-out
 * (SPEC 3.1, 6.1). A cursor says where the next turn continues.
 */
export function createCatchUp(parts: MakingParts, { windowMs, ...options }: TurnOptions & { windowMs: number }) {
  const { queries, metrics, handOver } = parts;
  return byTurns<CatchUp & { after: string }>(
    parts,
    {
      task: "catch-up",
      table: "catch_up",
      done: "caught up an endpoint",
      failure: "a catch-up failed; it is tried again",
      async take(lease) {
        const taken = await takeCatchUp(queries, lease);
        if (taken === null) return null;
        const first = firstIdAt(beginningOf(taken, lease.now, windowMs));
        // As text, ids sort as PostgreSQL sorts them.
        return { ...taken, after: taken.cursor !== null && taken.cursor > first ? taken.cursor : first };
      },
      async page(taken, bounds) {
        const page = await backfill(queries, taken, bounds);
        taken.after = page.cursor ?? taken.after;
        metrics.caughtUp.inc(page.deliveryCount);
        const { endpointId, organizationId } = taken;
        if (page.deliveryCount > 0 && organizationId !== null) {
          handOver({ stored: true, deliveries: [], work: [{ endpointId, organizationId, owner: page.owner }] });
        }
        return page;
      },
    },
    options,
  );
}

/** The time of the first event of a pass: never before the endpoint's creation (SPEC 6.1/creation) or the window. */
function beginningOf({ priority, completeTo, createdAt }: CatchUp, now: Date, windowMs: number): Date {
  const watermark = priority === 0 || completeTo === null ? 0 : completeTo.getTime() - GUARD_OVERLAP_MS;
  return new Date(Math.max(createdAt?.getTime() ?? 0, now.getTime() - windowMs, watermark));
}
