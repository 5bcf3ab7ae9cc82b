import { Prisma } from "./generated/client.ts";
import { oneRow, type Reads } from "./queries.ts";

/** The number of shards that all endpoints are in. More dispatchers than this would have nothing to do. */
export const SHARDS = 256;

/** The shard of an endpoint: the last byte of its id, as `shard_of` of the migration has it. */
export function shardOf(endpointId: string): number {
  return Number.parseInt(endpointId.slice(-2), 16);
}

/** The dispatcher that owns the endpoint's shard, by the id of its process; null if none does. Locks nothing. Walks shard_pkey. */
export async function ownerOf(reads: Reads, endpointId: string): Promise<string | null> {
  const [row] = await reads.$queryRaw<{ owner: string | null }[]>`
    select owner from shard where id = shard_of(${endpointId}::uuid)`;
  return row?.owner ?? null;
}

/** Who makes attempts, as PostgreSQL knows it. */
export interface Dispatching {
  /** Since when an operator has stopped it (`herald dispatch stop`); null if it goes on. */
  stoppedSince: Date | null;
  /** Shards in which no attempt begins, since an operator has stopped them. */
  shardsStopped: number;
  /** The other shards: those that a living dispatcher owns, and those whose deliveries no dispatcher attempts. */
  shardsOwned: number;
  shardsUnowned: number;
  /** Living dispatchers that can make attempts, and those that can't. */
  dispatchersAble: number;
  dispatchersUnable: number;
}

/** Answers a {@link Dispatching}. Locks nothing. Reads the whole of `shard` and of `process`: 256 rows, and one for each service at work. */
export const DISPATCHING = `
  with living as materialized (
    select id, able from process where alive_until > now()
  )
  select
    min(stopped_at) as "stoppedSince",
    count(stopped_at)::int as "shardsStopped",
    (count(*) filter (where stopped_at is null and is_owned))::int as "shardsOwned",
    (count(*) filter (where stopped_at is null and not is_owned))::int as "shardsUnowned",
    (select count(*) filter (where able) from living)::int as "dispatchersAble",
    (select count(*) filter (where not able) from living)::int as "dispatchersUnable"
  from shard cross join lateral (select exists (select from living where id = shard.owner) as is_owned) as owned`;

export async function readDispatching(reads: Reads): Promise<Dispatching> {
  const rows = await reads.$queryRaw<Dispatching[]>`${Prisma.raw(DISPATCHING)}`;
  return oneRow(rows);
}
