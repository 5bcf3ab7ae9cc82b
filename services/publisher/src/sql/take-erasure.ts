import type { Queries } from "@herald/common/database/queries";

/** A deleted endpoint whose history this process erases now. */
export interface Erasure {
  endpointId: string;
  /** Marks the erasure as taken by this process: every later statement changes it only where this still stands. */
  leasedUntil: Date;
}

/**
 * Takes the erasure that has been due longest, and moves its time past a lease. Null where none is due.
 *
 * Locks the row that it takes, skips those that others lock. Reads the whole table, which has few rows.
 */
export async function takeErasure(
  queries: Queries,
  { now, leasedUntil }: { now: Date; leasedUntil: Date },
): Promise<Erasure | null> {
  const [taken] = await queries.$queryRaw<Erasure[]>`
    update erasure
    set due_at = ${leasedUntil}::timestamptz
    where endpoint_id in (
      select endpoint_id from erasure
      where due_at <= ${now}::timestamptz
      order by due_at
      limit 1
      for update skip locked
    )
    returning endpoint_id as "endpointId", due_at as "leasedUntil"`;
  return taken ?? null;
}

/** Lets others go on with an erasure, behind those that wait already. Locks its row. Walks erasure_pkey. */
export async function giveBackErasure(
  queries: Queries,
  { endpointId, leasedUntil }: Erasure,
  now: Date,
): Promise<void> {
  await queries.$executeRaw`
    update erasure set due_at = ${now}::timestamptz
    where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz`;
}

/**
 * Ends an erasure that found nothing any more: until its last look has come it waits for that, then its row goes.
 * Locks its row. Walks erasure_pkey.
 */
export async function finishErasure(queries: Queries, { endpointId, leasedUntil }: Erasure, now: Date): Promise<void> {
  await queries.$executeRaw`
    with waiting as (
      update erasure set due_at = until
      where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz and until > ${now}::timestamptz
    )
    delete from erasure
    where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz and until <= ${now}::timestamptz`;
}
