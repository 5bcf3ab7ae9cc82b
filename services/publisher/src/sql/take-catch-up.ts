import type { Queries } from "@herald/common/database/queries";
import type { Work } from "./work.ts";

/** An endpoint whose catch-up this process does now. */
export interface CatchUp extends Work {
  /** 0: somebody waits for it. 1: the daily guard. */
  priority: number;
  /** The key of the last event that was read; null at the beginning of a pass. */
  cursor: string | null;
  /** Of events up to this time nothing was missing at the last pass; null before the first one. */
  completeTo: Date | null;
  /** The endpoint's creation and organization; null where it is gone. */
  createdAt: Date | null;
  organizationId: string | null;
}

/**
 * Takes the catch-up that is next, and moves its time past a lease: of those that somebody waits for the one that has been due
 * longest, and where there is none, of the daily guards. Null where none is due.
 *
 * Of the endpoint it reads only what never changes: this statement may see it as it was before the resume that its catch-up waited for.
 *
 * Locks the row that it takes, skips those that others lock. Walks catch_up_priority_due_at_idx and webhook_endpoint_pkey.
 */
export async function takeCatchUp(
  queries: Queries,
  { now, leasedUntil }: { now: Date; leasedUntil: Date },
): Promise<CatchUp | null> {
  const [taken] = await queries.$queryRaw<CatchUp[]>`
    update catch_up
    set due_at = ${leasedUntil}::timestamptz
    where endpoint_id = coalesce(
      (
        select endpoint_id from catch_up where priority = 0 and due_at <= ${now}::timestamptz
        order by due_at limit 1 for update skip locked
      ),
      (
        select endpoint_id from catch_up where priority = 1 and due_at <= ${now}::timestamptz
        order by due_at limit 1 for update skip locked
      )
    )
    returning endpoint_id as "endpointId", due_at as "leasedUntil", priority::int as "priority", cursor,
      complete_to as "completeTo",
      (select created_at from webhook_endpoint where id = endpoint_id) as "createdAt",
      (select organization_id from webhook_endpoint where id = endpoint_id) as "organizationId"`;
  return taken ?? null;
}
