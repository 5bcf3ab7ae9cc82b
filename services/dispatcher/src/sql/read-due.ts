import type { Queries } from "@herald/common/database/queries";
import type { DueRow } from "./describe-deliveries.ts";

/** A place in the order in which an endpoint's rows are read. */
export type Cursor = Pick<DueRow, "dueAt" | "deliveryId">;

/** The first place of all. */
export const BEGINNING: Cursor = { dueAt: new Date(0), deliveryId: "00000000-0000-0000-0000-000000000000" };

/** The rows of an endpoint that its owner wants. */
export interface Demand {
  endpointId: string;
  shard: number;
  /** The epoch in which the owner has the shard. */
  epoch: number;
  count: number;
  /** Rows up to here are not wanted. */
  after: Cursor;
}

/**
 * Reads up to `count` rows of each endpoint in `demands`, in the order of their times, also those that are not due yet: the first of these says when
 * to look again. Each endpoint has its own limit, so that a large backlog of one hides no other's. Reads nothing if the shard has another owner
 * since, or was stopped: also in a database that was restored from a backup meanwhile.
 *
 * Locks nothing. Walks shard_pkey, and due_pkey once an endpoint, from the cursor on.
 */
export async function readDue(queries: Queries, demands: readonly Demand[]): Promise<DueRow[]> {
  return await queries.$queryRaw<DueRow[]>`
    select demand.endpoint_id as "endpointId", due.due_at as "dueAt", due.delivery_id as "deliveryId",
      due.attempts::int as "attempts", due.interruptions::int as "interruptions"
    from unnest(
      ${demands.map((demand) => demand.endpointId)}::uuid[],
      ${demands.map((demand) => demand.shard)}::smallint[],
      ${demands.map((demand) => demand.epoch)}::bigint[],
      ${demands.map((demand) => demand.count)}::int[],
      ${demands.map((demand) => demand.after.dueAt)}::timestamptz[],
      ${demands.map((demand) => demand.after.deliveryId)}::uuid[]
    ) as demand (endpoint_id, shard, epoch, count, after_due_at, after_delivery_id)
    join shard on shard.id = demand.shard and shard.epoch = demand.epoch and shard.stopped_at is null
    cross join lateral (
      select due_at, delivery_id, attempts, interruptions from due
      where due.shard = demand.shard and due.endpoint_id = demand.endpoint_id
        and (due_at, delivery_id) > (demand.after_due_at, demand.after_delivery_id)
      order by due_at, delivery_id
      limit demand.count
    ) as due`;
}

/**
 * Reads the row of one delivery, as {@link readDue} does; undefined if it has ended, or its time was moved.
 *
 * Locks nothing. Walks due_pkey and shard_pkey.
 */
export async function readDueRow(
  queries: Queries,
  { endpointId, dueAt, deliveryId, epoch }: Pick<DueRow, "endpointId" | "dueAt" | "deliveryId"> & { epoch: number },
): Promise<DueRow | undefined> {
  const [row] = await queries.$queryRaw<DueRow[]>`
    select endpoint_id as "endpointId", due_at as "dueAt", delivery_id as "deliveryId", attempts::int as "attempts",
      interruptions::int as "interruptions"
    from due
    join shard on shard.id = due.shard and shard.epoch = ${epoch}::bigint and shard.stopped_at is null
    where due.shard = shard_of(${endpointId}::uuid) and endpoint_id = ${endpointId}::uuid
      and due_at = ${dueAt}::timestamptz and delivery_id = ${deliveryId}::uuid`;
  return row;
}

/**
 * Counts one more interruption for the oldest due rows of endpoints, for as many rows of each as may have been in flight when their owner died.
 *
 * Locks these rows. Walks due_pkey once an endpoint.
 *
 * @returns the number of rows
 */
export async function markInterrupted(
  queries: Queries,
  endpointIds: readonly string[],
  { perEndpoint, now }: { perEndpoint: number; now: Date },
): Promise<number> {
  return await queries.$executeRaw`
    update due set interruptions = due.interruptions + 1
    from unnest(${endpointIds}::uuid[]) as endpoint (id)
    cross join lateral (
      select shard, endpoint_id, due_at, delivery_id from due
      where due.shard = shard_of(endpoint.id) and due.endpoint_id = endpoint.id and due_at <= ${now}::timestamptz
      order by due_at, delivery_id
      limit ${perEndpoint}
    ) as oldest
    where due.shard = oldest.shard and due.endpoint_id = oldest.endpoint_id and due.due_at = oldest.due_at
      and due.delivery_id = oldest.delivery_id`;
}
