import type { Queries } from "./queries.ts";

/** All endpoints are in so many shards. More dispatchers than this would have nothing to do. */
export const SHARDS = 256;

/** The shard of an endpoint: the last byte of its id, as `shard_of` of the migration has it. */
export function shardOf(endpointId: string): number {
  return Number.parseInt(endpointId.slice(-2), 16);
}

/** The dispatcher that owns the endpoint's shard, by the id of its process; null where none does. Locks nothing. Walks shard_pkey. */
export async function ownerOf(queries: Pick<Queries, "$queryRaw">, endpointId: string): Promise<string | null> {
  const [row] = await queries.$queryRaw<{ owner: string | null }[]>`
    select owner from shard where id = shard_of(${endpointId}::uuid)`;
  return row?.owner ?? null;
}
