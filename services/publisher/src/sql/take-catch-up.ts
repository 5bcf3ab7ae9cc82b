import type { Queries } from "@herald/common/database/queries";
import type { Work } from "./work.ts";

/** An endpoint whose catch-up this process does now. */
export interface CatchUp extends Work {
  /** 0: the catch-up was requested. 1: it is the daily guard. */
  priority: number;
  /** The key of the last event that was read; null at the beginning of a pass. */
  cursor: string | null;
  /** At the last pass, no delivery was missing of any event up to this time; null before the first pass. */
  completeTo: Date | null;
  /** The creation of the endpoint; null, like its organization, where the endpoint has been deleted. */
  createdAt: Date | null;
  organizationId: string | null;
}

/**
 * Takes the catch-up that is next, and moves its time past a lease. Requested catch-ups come first, and then the daily guards; of each
 * kind, the one that has been due longest. Null where none is due.
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
