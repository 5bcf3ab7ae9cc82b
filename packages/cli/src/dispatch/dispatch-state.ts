import { setTimeout as sleep } from "node:timers/promises";
import { oneRow, type Queries, type Reads } from "@herald/common/database/queries";
import { plural } from "../output.ts";

export interface LivingDispatcher {
  id: string;
  /** Where it runs: host and process id; "" until it has said so. */
  name: string;
  able: boolean;
  shards: number;
}

/**
 * From now on no dispatcher takes a shard, and the owner of one begins nothing more in it and gives it up. A stop that stands already keeps its time.
 *
 * Locks all shards, in the order of their ids, as the heartbeat does.
 *
 * @returns since when dispatching is stopped
 */
export async function stopDispatching(queries: Queries): Promise<Date> {
  const rows = await queries.$queryRaw<{ stoppedSince: Date }[]>`
    with going as materialized (
      select id from shard where stopped_at is null order by id for no key update
    ), stopped as (
      update shard set stopped_at = now()
      from going where shard.id = going.id
      returning shard.stopped_at
    )
    select least((select min(stopped_at) from shard), (select min(stopped_at) from stopped)) as "stoppedSince"`;
  return oneRow(rows).stoppedSince;
}

/**
 * Lets dispatchers take the shards. Locks those that are stopped, in the order of their ids.
 *
 * @returns since when dispatching was stopped; null if it was not
 */
export async function startDispatching(queries: Queries): Promise<Date | null> {
  const [row] = await queries.$queryRaw<{ stoppedSince: Date | null }[]>`
    with stopped as materialized (
      select id, stopped_at from shard where stopped_at is not null order by id for no key update
    ), started as (
      update shard set stopped_at = null
      from stopped where shard.id = stopped.id
    )
    select min(stopped_at) as "stoppedSince" from stopped`;
  return row?.stoppedSince ?? null;
}

/** Locks nothing. Reads the whole of `process` and `shard`. */
export async function readLivingDispatchers(reads: Reads): Promise<LivingDispatcher[]> {
  return await reads.$queryRaw<LivingDispatcher[]>`
    select process.id, process.name, process.able, count(shard.id)::int as "shards"
    from process left join shard on shard.owner = process.id
    where process.alive_until > now()
    group by process.id
    order by process.name, process.id`;
}

const LOOK_EVERY_MS = 100;

/**
 * Resolves once no living dispatcher owns a shard. One that gives a shard up has settled all that it had begun there, which takes as long
 * as its receivers do, at most 15 s; one that has died counts as alive for six seconds.
 *
 * @param progress where it throws, the waiting ends
 */
export async function untilGivenUp(reads: Reads, progress: (text: string) => void): Promise<void> {
  for (;;) {
    const owners = (await readLivingDispatchers(reads)).filter(({ shards }) => shards > 0);
    if (owners.length === 0) return;
    const shards = owners.reduce((sum, owner) => sum + owner.shards, 0);
    progress(`waits until ${plural(owners.length, "dispatcher")} have given up ${plural(shards, "shard")}`);
    await sleep(LOOK_EVERY_MS);
  }
}
