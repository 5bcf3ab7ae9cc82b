import type { Queries } from "@herald/common/database/queries";
import type { Erasure } from "./take-erasure.ts";

export interface ErasedPage {
  /** False where another process has taken the erasure over. */
  held: boolean;
  dueCount: number;
  deliveryCount: number;
}

/**
 * Erases one page of what a deleted endpoint has left: rows of `due`, and deliveries with their attempts. Renews the lease.
 *
 * Locks what it erases, and the erasure's row at its end. Walks due_endpoint_id_due_at_idx and due_pkey, delivery_endpoint_id_id_idx
 * for the page, and then the primary keys in the partitions that the page lies in.
 */
export async function eraseEndpointPage(
  queries: Queries,
  { endpointId, leasedUntil }: Erasure,
  { renewedUntil, pageSize }: { renewedUntil: Date; pageSize: number },
): Promise<ErasedPage> {
  const [row] = await queries.$queryRaw<ErasedPage[]>`
    with page as materialized (
      select id from delivery where endpoint_id = ${endpointId}::uuid order by id limit ${pageSize}
    ), waiting as (
      delete from due
      where delivery_id = any (array (
        select delivery_id from due where endpoint_id = ${endpointId}::uuid order by due_at limit ${pageSize}
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
    ), held as (
      update erasure set due_at = ${renewedUntil}::timestamptz
      where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz
      returning 1
    )
    select
      exists (select from held) as "held",
      (select count(*) from waiting)::int as "dueCount",
      (select count(*) from erased)::int as "deliveryCount"`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  return row;
}
