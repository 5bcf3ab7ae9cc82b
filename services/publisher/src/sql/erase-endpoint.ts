import { Prisma } from "@herald/common/database/generated/client";
import { isOver, oneRow, type Queries } from "@herald/common/database/queries";
import type { Lease, PageBounds, Work, WorkPage } from "./work.ts";

/** Moves the time of the erasure that it takes past a lease. Locks that row, skips those that others lock. Reads the whole table, of few rows. */
export async function takeErasure(queries: Queries, { now, leasedUntil }: Lease): Promise<Work | null> {
  const [taken] = await queries.$queryRaw<Work[]>`
    update erasure
    set due_at = ${leasedUntil}::timestamptz
    where endpoint_id in (
      select endpoint_id from erasure
      where ${isOver(Prisma.sql`due_at`, now)}
      order by due_at
      limit 1
      for update skip locked
    )
    returning endpoint_id as "endpointId", due_at as "leasedUntil"`;
  return taken ?? null;
}

/**
 * Erases one page of a deleted endpoint's resends, rates, rows of `due`, and deliveries with their attempts; its changes stay. Renews the lease. An
 * erasure that finds nothing any more waits for its last look, and after that it is over.
 *
 * Locks what it erases, and the erasure's row at its end. Walks resend_endpoint_id_id_idx and resend_pkey, endpoint_hour_pkey, due_pkey,
 * delivery_endpoint_id_id_idx for the page, and then the primary keys in the partitions that the page lies in.
 */
export async function eraseEndpointPage(
  queries: Queries,
  { endpointId, leasedUntil }: Work,
  { pageSize, now, renewedUntil }: PageBounds,
): Promise<WorkPage> {
  const isLastLook = isOver(Prisma.sql`until`, now);
  const rows = await queries.$queryRaw<WorkPage[]>`
    with page as materialized (
      select id from delivery where endpoint_id = ${endpointId}::uuid order by id limit ${pageSize}
    ), resends as (
      delete from resend
      where id = any (array (
        select id from resend where endpoint_id = ${endpointId}::uuid order by id limit ${pageSize}
      ))
      returning 1
    ), rates as (
      delete from endpoint_hour where endpoint_id = ${endpointId}::uuid
    ), waiting as (
      delete from due
      where ctid = any (array (
        select ctid from due
        where shard = shard_of(${endpointId}::uuid) and endpoint_id = ${endpointId}::uuid
        order by due_at, delivery_id
        limit ${pageSize}
      ))
      returning 1
    ), attempts as (
      delete from delivery_attempt
      where delivery_id = any (array (select id from page))
        -- So that PostgreSQL passes over the partitions that the page does not reach.
        and delivery_id between (select id from page order by id limit 1) and (select id from page order by id desc limit 1)
    ), erased as (
      delete from delivery
      where id = any (array (select id from page))
        and id between (select id from page order by id limit 1) and (select id from page order by id desc limit 1)
      returning 1
    ), progress as (
      select
        (select count(*) from erased)::int as delivery_count,
        (select count(*) from erased) + (select count(*) from waiting) + (select count(*) from resends) = 0 as ended
    ), held as (
      update erasure set due_at = case when ended then until else ${renewedUntil}::timestamptz end
      from progress
      where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz
        and not (ended and ${isLastLook})
      returning 1
    ), finished as (
      delete from erasure using progress
      where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz
        and ended and ${isLastLook}
    )
    select exists (select from held) as "held", ended, delivery_count as "deliveryCount" from progress`;
  return oneRow(rows);
}
