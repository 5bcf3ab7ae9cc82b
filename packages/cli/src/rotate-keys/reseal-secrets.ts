import type { Queries, Reads } from "@herald/common/database/queries";

export interface SealedSecret {
  endpointId: string;
  sealedSecret: string;
}

/** Reads a page of sealed secrets by endpoint. Locks nothing. Walks webhook_endpoint_pkey. */
export async function readSealedSecrets(
  reads: Reads,
  { after, pageSize }: { after: string; pageSize: number },
): Promise<SealedSecret[]> {
  return await reads.$queryRaw<SealedSecret[]>`
    select id as "endpointId", sealed_secret as "sealedSecret"
    from webhook_endpoint
    where id > ${after}::uuid
    order by id
    limit ${pageSize}`;
}

/**
 * Writes the same secrets again, sealed to another key. A secret that was replaced since it was read stays as it is. The
 * endpoint's configuration does not change, so neither does its revision. Returns how many secrets it wrote.
 *
 * Locks those endpoints, in the order of their ids, as every statement does that locks several. Walks webhook_endpoint_pkey.
 */
export async function resealSecrets(
  queries: Queries,
  changes: readonly (SealedSecret & { resealed: string })[],
): Promise<number> {
  return await queries.$executeRaw`
    with change as (
      select * from unnest(
        ${changes.map((change) => change.endpointId)}::uuid[],
        ${changes.map((change) => change.sealedSecret)}::text[],
        ${changes.map((change) => change.resealed)}::text[]
      ) as change (endpoint_id, sealed_secret, resealed)
    ), locked as materialized (
      select endpoint.id, change.resealed
      from webhook_endpoint as endpoint
      join change on change.endpoint_id = endpoint.id and change.sealed_secret = endpoint.sealed_secret
      order by endpoint.id
      for no key update of endpoint
    )
    update webhook_endpoint
    set sealed_secret = locked.resealed
    from locked
    where webhook_endpoint.id = locked.id`;
}
