import type { Queries } from "@herald/common/database/queries";

/** An endpoint whose catch-up this process does now. */
export interface CatchUp {
  endpointId: string;
  /** Marks the catch-up as taken by this process: every later statement changes it only where this still stands. */
  leasedUntil: Date;
  /** 0: somebody waits for it. 1: the daily guard. */
  priority: number;
  /** The key of the last event that was read; null at the beginning of a pass. */
  cursor: string | null;
  /** Of events up to this time nothing was missing at the last pass; null before the first one. */
  completeTo: Date | null;
}

/**
 * Takes the catch-up that is next, and moves its time past a lease: of those that somebody waits for the one that has been due
 * longest, and where there is none, of the daily guards. Null where none is due.
 *
 * Locks the row that it takes, skips those that others lock. Walks catch_up_priority_due_at_idx.
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
      complete_to as "completeTo"`;
  return taken ?? null;
}

export interface CatchUpEndpoint {
  organizationId: string;
  enabled: boolean;
  createdAt: Date;
}

/**
 * Null where the endpoint is gone. This is a statement of its own: one that took the catch-up too could see the endpoint as it
 * was before the resume that it has waited for. Locks nothing. Walks webhook_endpoint_pkey.
 */
export async function readEndpoint(queries: Queries, endpointId: string): Promise<CatchUpEndpoint | null> {
  const [endpoint] = await queries.$queryRaw<CatchUpEndpoint[]>`
    select organization_id as "organizationId", enabled, created_at as "createdAt"
    from webhook_endpoint where id = ${endpointId}::uuid`;
  return endpoint ?? null;
}

/** Lets others go on with a catch-up, behind those that wait already. Locks its row. Walks catch_up_pkey. */
export async function giveBackCatchUp(
  queries: Queries,
  { endpointId, leasedUntil }: CatchUp,
  now: Date,
): Promise<void> {
  await queries.$executeRaw`
    update catch_up set due_at = ${now}::timestamptz
    where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz`;
}

/** Lets a disabled endpoint rest until its resume sets a time again. Locks its row. Walks catch_up_pkey. */
export async function suspendCatchUp(queries: Queries, { endpointId, leasedUntil }: CatchUp): Promise<void> {
  await queries.$executeRaw`
    update catch_up set due_at = 'infinity', cursor = null
    where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz`;
}

/** Removes the catch-up of an endpoint that is gone. Locks its row. Walks catch_up_pkey. */
export async function removeCatchUp(queries: Queries, { endpointId, leasedUntil }: CatchUp): Promise<void> {
  await queries.$executeRaw`
    delete from catch_up where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz`;
}
