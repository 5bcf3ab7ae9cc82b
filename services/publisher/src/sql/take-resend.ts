import type { Queries } from "@herald/common/database/queries";

/** A resend of which this process makes a page now. */
export interface TakenResend {
  id: string;
  endpointId: string;
  organizationId: string;
  /** Marks it as taken by this process: the page is made only where this still stands. */
  leasedUntil: Date;
}

/**
 * Takes the resend that has been due longest, and moves its time past a lease. Null where none is due.
 *
 * Locks the row that it takes, skips those that others lock. Walks resend_due_at_idx, where those that have ended are not looked at.
 */
export async function takeResend(
  queries: Queries,
  { now, leasedUntil }: { now: Date; leasedUntil: Date },
): Promise<TakenResend | null> {
  const [taken] = await queries.$queryRaw<TakenResend[]>`
    update resend
    set due_at = ${leasedUntil}::timestamptz
    where id = (
      select id from resend
      where due_at <= ${now}::timestamptz
      order by due_at
      limit 1
      for update skip locked
    )
    returning id, endpoint_id as "endpointId", organization_id as "organizationId", due_at as "leasedUntil"`;
  return taken ?? null;
}
