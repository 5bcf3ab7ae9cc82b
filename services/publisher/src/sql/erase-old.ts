import { onDaysOf } from "@herald/common/database/days";
import { Prisma } from "@herald/common/database/generated/client";
import { firstIdAt, timeOfInSql } from "@herald/common/database/ids";
import { oneRow, type Queries } from "@herald/common/database/queries";

/** The key of a row of `due`, without the shard, which follows from the endpoint. The time is as PostgreSQL writes it in JSON, with microseconds. */
export type DueCursor = { endpointId: string; dueAt: string; deliveryId: string };

/** With the last row that the page read, whether it expired or not; null for an empty page. */
export type ExpiredPage = { expiredCount: number; last: DueCursor | null };

const KEY = Prisma.sql`shard, endpoint_id, due_at, delivery_id`;
const TIME = Prisma.raw(timeOfInSql("delivery_id"));
const BEFORE_ALL: DueCursor = {
  endpointId: "00000000-0000-0000-0000-000000000000",
  dueAt: "-infinity",
  deliveryId: "00000000-0000-0000-0000-000000000000",
};

/**
 * Reads one page of unfinished deliveries, and expires those that, or whose events, are older than `endedBefore`. Leaves the rows for a notice
 * (notices.ts) if the endpoint exists.
 *
 * The row of `due` decides: the process that deletes it makes the notice, also if the delivery has been dropped. A delivery that a settlement ends or
 * postpones at the same moment is left to the settlement, or to the next pass. An attempt under way counts for nothing.
 *
 * Locks the rows of `due` that it deletes, and their deliveries. Walks due_pkey from `after` on, delivery_pkey in the partitions that are too old,
 * and webhook_endpoint_pkey.
 */
export async function expireDue(
  queries: Queries,
  { after, endedBefore, pageSize }: { after: DueCursor | null; endedBefore: Date; pageSize: number },
): Promise<ExpiredPage> {
  const { endpointId, dueAt, deliveryId } = after ?? BEFORE_ALL;
  const rows = await queries.$queryRaw<ExpiredPage[]>`
    with page as materialized (
      select ctid as place, ${KEY} from due
      where (${KEY}) > (shard_of(${endpointId}::uuid), ${endpointId}::uuid, ${dueAt}::timestamptz, ${deliveryId}::uuid)
      order by ${KEY}
      limit ${pageSize}
    ), ended as (
      delete from due
      -- By their places, since a plan for any page size would join whole tables.
      where ctid = any (array (select place from page where delivery_id < ${firstIdAt(endedBefore)}::uuid))
      returning delivery_id, endpoint_id
    ), expired as (
      update delivery set state = 'expired'
      where id = any (array (select delivery_id from ended))
        -- So that PostgreSQL passes over the partitions that the page does not reach, and locks none that is younger.
        and id between (select delivery_id from ended order by 1 limit 1) and (select delivery_id from ended order by 1 desc limit 1)
        and ${onDaysOf("id", [firstIdAt(new Date(0)), firstIdAt(endedBefore)])}
        and state = 'pending'
    ), told as (
      insert into exhaustion (endpoint_id, state, organization_id, endpoint_name, endpoint_url, deliveries, first_at, last_at)
      select endpoint.id, 'expired', endpoint.organization_id, endpoint.name, endpoint.url, count(*), min(${TIME}), max(${TIME})
      from ended
      join webhook_endpoint as endpoint on endpoint.id = ended.endpoint_id
      group by endpoint.id
    )
    select
      (select count(*) from ended)::int as "expiredCount",
      (
        select json_build_object('endpointId', endpoint_id, 'dueAt', due_at, 'deliveryId', delivery_id)
        from page order by shard desc, endpoint_id desc, due_at desc, delivery_id desc limit 1
      ) as "last"`;
  return oneRow(rows);
}

/** The column that begins with the time of a row: an id, or the time itself. */
const TIMES = { endpoint_change: "id", resend: "id", undelivered_event: "came_at", endpoint_hour: "hour" } as const;

/**
 * Erases rows of a table that are older than `before`: the oldest first, at most `pageSize`. Returns their number. A running resend ends with its
 * row; its deliveries are erased with the partitions of their days. A resend that is moved at the same moment is erased then or at the next pass.
 *
 * Locks what it erases. Walks endpoint_change_pkey, resend_pkey, undelivered_event_came_at_idx or endpoint_hour_hour_idx from its left end.
 */
export async function eraseRows(
  queries: Queries,
  table: keyof typeof TIMES,
  { before, pageSize }: { before: Date; pageSize: number },
): Promise<number> {
  const [from, time] = [Prisma.raw(table), Prisma.raw(TIMES[table])];
  const isId = TIMES[table] === "id";
  const limit = isId ? Prisma.sql`${firstIdAt(before)}::uuid` : Prisma.sql`${before}::timestamptz`;
  return await queries.$executeRaw`
    delete from ${from}
    where ctid = any (array (
      select ctid from ${from}
      where ${time} < ${limit}
      order by ${time}
      limit ${pageSize}
    ))`;
}
