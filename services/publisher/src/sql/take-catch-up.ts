import type { Queries } from "@herald/common/database/queries";

/** An endpoint whose catch-up this process does now. */
export interface CatchUp {
  endpointId: string;
  organizationId: string;
  /** Marks the catch-up as taken by this process; `finishCatchUp` needs it. */
  leasedUntil: Date;
}

/**
 * Takes the enabled endpoint whose catch-up has been due longest, and moves its time past a lease. So no two processes do the
 * same catch-up, and one that is cut off is due again when the lease ends. Null where no catch-up is due.
 *
 * Locks the endpoint that it takes, skips those that others lock. Walks webhook_endpoint_catch_up.
 */
export async function takeCatchUp(
  queries: Queries,
  { now, leasedUntil }: { now: Date; leasedUntil: Date },
): Promise<CatchUp | null> {
  const [taken] = await queries.$queryRaw<CatchUp[]>`
    update webhook_endpoint
    set catch_up_at = ${leasedUntil}::timestamptz
    where id in (
      select id from webhook_endpoint
      where enabled and catch_up_at <= ${now}::timestamptz
      order by catch_up_at
      limit 1
      for no key update skip locked
    )
    returning id as "endpointId", organization_id as "organizationId", catch_up_at as "leasedUntil"`;
  return taken ?? null;
}

/**
 * Ends a catch-up: the next one comes at `catch_up_until` where that lies ahead, else at `nextAt`. An endpoint that was
 * marked again meanwhile keeps its new mark.
 */
export async function finishCatchUp(
  queries: Queries,
  { endpointId, leasedUntil }: CatchUp,
  { now, nextAt }: { now: Date; nextAt: Date },
): Promise<void> {
  await queries.$executeRaw`
    update webhook_endpoint
    set catch_up_at = case when catch_up_until > ${now}::timestamptz then catch_up_until else ${nextAt}::timestamptz end
    where id = ${endpointId}::uuid and catch_up_at = ${leasedUntil}::timestamptz`;
}
