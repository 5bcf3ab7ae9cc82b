import { oneRow, type Queries } from "@herald/common/database/queries";
import { SHARDS } from "@herald/common/database/shards";

export interface Heartbeat {
  id: string;
  /** The dispatcher lives this long without a further heartbeat. */
  aliveMs: number;
  able: boolean;
  outageSince: Date | null;
  /** It attempts nothing on arrival in a shard that it has taken less than this long ago. */
  newOwnerMs: number;
  /** Whether it wants shards; false while it ends. */
  wanting: boolean;
}

export interface HeartbeatAnswer {
  /** The shards that the dispatcher owned before, with their epochs. */
  owned: { shard: number; epoch: number; stopped: boolean }[];
  /** The shards that it owns from now on. `crashed`: their owner died without giving them up. */
  taken: { shard: number; epoch: number; crashed: boolean }[];
  /** Its fair share of shards: it must give up those beyond. */
  fair: number;
}

/**
 * Prolongs a dispatcher's life, takes shards for it whose owner does not live, up to its fair share, and returns its shards. The able dispatchers
 * share all shards; if none is able, all dispatchers do. No dispatcher takes a stopped shard.
 *
 * If two heartbeats come at once, each takes a shard only in the epoch that it has seen, and taking raises the epoch, so only one of them takes it.
 * Whether a shard was stopped since is checked again when its row is locked. PostgreSQL's clock alone decides whether an owner lives. If a row's
 * `alive_until` is later than a heartbeat could set it, PostgreSQL's clock was set back: that dispatcher too lives no longer than `aliveMs` from now
 * without a further heartbeat. Rows of processes that ended more than a minute ago are deleted.
 *
 * Locks its own row of `process`, and the shards that it takes; skips what others lock. Reads both tables, which are small.
 */
export async function heartbeat(
  queries: Queries,
  { id, aliveMs, able, outageSince, newOwnerMs, wanting }: Heartbeat,
): Promise<HeartbeatAnswer> {
  const rows = await queries.$queryRaw<HeartbeatAnswer[]>`
    with own as (
      insert into process as own (id, service, alive_until, able, outage_since)
      values (
        ${id}::uuid, 'dispatcher', now() + ${aliveMs}::float8 * interval '1 millisecond', ${able}::boolean,
        ${outageSince}::timestamptz
      )
      on conflict (id) do update
      set alive_until = excluded.alive_until, able = excluded.able, outage_since = excluded.outage_since
    ), other as materialized (
      select id, able from process
      where id <> ${id}::uuid and alive_until > now()
    ), shortened as (
      update process set alive_until = now() + ${aliveMs}::float8 * interval '1 millisecond'
      where id in (
        select id from process
        where id <> ${id}::uuid and alive_until > now() + ${aliveMs}::float8 * interval '1 millisecond'
        for update skip locked
      )
    ), share as materialized (
      select case
        when not ${wanting}::boolean then 0
        when ${able}::boolean then ceil(${SHARDS}::float8 / (1 + count(*) filter (where other.able)))
        when bool_or(other.able) then 0
        else ceil(${SHARDS}::float8 / (1 + count(*)))
      end::int as fair
      from other
    ), owned as materialized (
      select id, epoch, stopped_at is not null as stopped from shard where owner = ${id}::uuid
    ), free as materialized (
      select id, owner, epoch from shard
      where stopped_at is null
        and owner is distinct from ${id}::uuid
        and not exists (select from other where other.id = shard.owner)
    ), wanted as materialized (
      select shard.id, free.owner is not null as crashed
      from shard join free on free.id = shard.id
      where shard.epoch = free.epoch and shard.stopped_at is null
      order by shard.id
      limit greatest(0, (select fair from share) - (select count(*) from owned))
      for update of shard skip locked
    ), taken as (
      update shard set owner = ${id}::uuid, epoch = shard.epoch + 1,
        on_arrival_from = now() + ${newOwnerMs}::float8 * interval '1 millisecond'
      from wanted where shard.id = wanted.id
      returning shard.id, shard.epoch, wanted.crashed
    ), removed as (
      delete from process
      where id in (
        select id from process
        where id <> ${id}::uuid
          and coalesce(alive_until, '-infinity') < now() - interval '1 minute'
          and coalesce(said_at, '-infinity') < now() - interval '1 minute'
        for update skip locked
      )
    )
    select
      (select coalesce(json_agg(json_build_object('shard', id, 'epoch', epoch, 'stopped', stopped)), '[]') from owned) as "owned",
      (select coalesce(json_agg(json_build_object('shard', id, 'epoch', epoch, 'crashed', crashed)), '[]') from taken) as "taken",
      (select fair from share) as "fair"`;
  return oneRow(rows);
}

/** Any dispatcher may take them. Returns those that were given up. Locks their rows, and skips those that others lock. Walks shard_pkey. */
export async function releaseShards(queries: Queries, id: string, shards: readonly number[]): Promise<number[]> {
  const released = await queries.$queryRaw<{ id: number }[]>`
    with free as materialized (
      select id from shard where id = any (${shards}::smallint[]) and owner = ${id}::uuid
      for no key update skip locked
    )
    update shard set owner = null from free where shard.id = free.id
    returning shard.id`;
  return released.map(({ id }) => id);
}

/** Ends a dispatcher's life, and frees all its shards. Locks its row, and its shards'. Walks process_pkey, and reads the shards. */
export async function endLife(queries: Queries, id: string): Promise<void> {
  await queries.$executeRaw`
    with released as (
      update shard set owner = null where owner = ${id}::uuid
    )
    delete from process where id = ${id}::uuid`;
}
