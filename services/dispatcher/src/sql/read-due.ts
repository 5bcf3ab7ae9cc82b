import { byDay, type OfDay } from "@herald/common/database/days";
import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import type { DueRow } from "./describe-deliveries.ts";
import type { StoredHealth } from "./rows.ts";

/** A place in the order in which an endpoint's rows are read. */
export type Cursor = { dueAt: Date; deliveryId: string };

/** The key of a row of `due`, beside its shard. */
type Place = Cursor & { endpointId: string };

export const BEGINNING: Cursor = { dueAt: new Date(0), deliveryId: "00000000-0000-0000-0000-000000000000" };

export interface Demand {
  endpointId: string;
  shard: number;
  epoch: number;
  count: number;
  /** Rows up to here are not wanted. */
  after: Cursor;
}

/**
 * Reads up to `count` rows of each endpoint in `demands`, in the order of their times, also those that are not due yet: the first of these says when
 * to look again. Each endpoint has its own limit, so that a large backlog of one hides no other's. Reads nothing if the shard has another owner
 * since, or was stopped: also in a database that was restored from a backup since.
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

/** Reads the row of one delivery; undefined if it has ended, or its time was moved. Locks nothing. Walks due_pkey and shard_pkey. */
export async function readDueRow(
  queries: Queries,
  { endpointId, dueAt, deliveryId, epoch }: Place & { epoch: number },
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

/** A row that was interrupted before moves by up to this time for each of those interruptions. */
const SPREAD_MS = 60_000;

/**
 * Adds one interruption to the oldest due rows of each endpoint: to as many as may have been in flight when their owner died. Returns their number.
 * From a row's second interruption on, its due time moves to a random time within the next minute, at the third within two minutes, and so on. So a
 * delivery that crashes its dispatcher each time is soon the only one in flight.
 *
 * The second statement changes the rows that the first one has found in both tables, by their keys: one for each day of deliveries (days.ts). No other
 * dispatcher changes these rows: a shard has one owner.
 *
 * Locks these rows of `due` and `delivery`, both or none, and skips those that others lock. Walks due_pkey once an endpoint, and delivery_pkey.
 */
export async function markInterrupted(
  queries: Queries,
  endpointIds: readonly string[],
  { perEndpoint, now, spreadMs = SPREAD_MS }: { perEndpoint: number; now: Date; spreadMs?: number },
): Promise<number> {
  const rows = await queries.$queryRaw<Place[]>`
    select due.endpoint_id as "endpointId", due.due_at as "dueAt", due.delivery_id as "deliveryId"
    from unnest(${endpointIds}::uuid[]) as endpoint (id)
    cross join lateral (
      select endpoint_id, due_at, delivery_id from due
      where due.shard = shard_of(endpoint.id) and due.endpoint_id = endpoint.id and due_at <= ${now}::timestamptz
      order by due_at, delivery_id
      limit ${perEndpoint}
    ) as due`;
  let count = 0;
  for (const ofDay of byDay(rows, ({ deliveryId }) => deliveryId))
    count += await markDay(queries, ofDay, { now, spreadMs });
  return count;
}

async function markDay(
  queries: Queries,
  { items: rows, isOn }: OfDay<Place>,
  { now, spreadMs }: { now: Date; spreadMs: number },
): Promise<number> {
  const ids = rows.map(({ deliveryId }) => deliveryId);
  const amongThese = Prisma.sql`id = any (${ids}::uuid[]) and ${isOn("id")}`;
  const [marked] = await queries.$queryRaw<{ count: number }[]>`
    with free as materialized (
      select id from delivery where ${amongThese}
      for no key update skip locked
    ), free_due as materialized (
      select due.shard, due.endpoint_id, due.due_at, due.delivery_id
      from unnest(
        ${rows.map(({ endpointId }) => endpointId)}::uuid[],
        ${rows.map(({ dueAt }) => dueAt)}::timestamptz[],
        ${rows.map(({ deliveryId }) => deliveryId)}::uuid[]
      ) as row (endpoint_id, due_at, delivery_id)
      join due on due.shard = shard_of(row.endpoint_id) and due.endpoint_id = row.endpoint_id and due.due_at = row.due_at
        and due.delivery_id = row.delivery_id
      where row.delivery_id in (select id from free)
      for update of due skip locked
    ), marked as (
      update due
      set interruptions = due.interruptions + 1,
        due_at = case
          when due.interruptions = 0 then due.due_at
          else ${now}::timestamptz + due.interruptions * random() * ${spreadMs}::int * interval '1 millisecond'
        end
      from free_due as row
      where due.shard = row.shard and due.endpoint_id = row.endpoint_id and due.due_at = row.due_at and due.delivery_id = row.delivery_id
      returning due.delivery_id, due.due_at, due.interruptions
    ), moved as (
      update delivery set next_attempt_at = marked.due_at
      from marked
      where ${amongThese} and id = marked.delivery_id and marked.interruptions > 1
    )
    select count(*)::int as "count" from marked`;
  return marked?.count ?? 0;
}

/** An enabled endpoint with unfinished deliveries. */
export interface EndpointWithWork extends StoredHealth {
  endpointId: string;
  organizationId: string;
  /** The time of its first row. */
  dueAt: Date;
  revision: bigint;
}

/**
 * Finds the enabled endpoints of some shards that have rows which are due by a time, with the first row of each; also if that row is later than
 * `latestDue`, since it was written before PostgreSQL's clock was set back. It steps from endpoint to endpoint, so its cost depends on the endpoints
 * with work, and neither on the rows of an endpoint nor on the number of all endpoints.
 *
 * Locks nothing. Walks due_pkey, once an endpoint with work, and webhook_endpoint_pkey.
 */
export async function findEndpointsWithWork(
  queries: Queries,
  shards: readonly number[],
  { dueBy, latestDue }: { dueBy: Date; latestDue: Date },
): Promise<EndpointWithWork[]> {
  return await queries.$queryRaw<EndpointWithWork[]>`
    with recursive step as (
      select own.shard, first.*
      from unnest(${shards}::smallint[]) as own (shard)
      cross join lateral (
        select endpoint_id, due_at from due
        where due.shard = own.shard
        order by endpoint_id, due_at
        limit 1
      ) as first
      union all
      select step.shard, next.*
      from step
      cross join lateral (
        select endpoint_id, due_at from due
        where due.shard = step.shard and due.endpoint_id > step.endpoint_id
        order by endpoint_id, due_at
        limit 1
      ) as next
    )
    select endpoint_id as "endpointId", endpoint.organization_id as "organizationId", due_at as "dueAt",
      endpoint.revision as "revision", endpoint.consecutive_failures as "failures", endpoint.paused_until as "pausedUntil"
    from step
    join webhook_endpoint as endpoint on endpoint.id = step.endpoint_id and endpoint.enabled
    where due_at <= ${dueBy}::timestamptz or due_at > ${latestDue}::timestamptz`;
}
