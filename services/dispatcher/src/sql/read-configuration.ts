import type { Queries } from "@herald/common/database/queries";
import type { ClaimedDelivery } from "./claimed-delivery.ts";

/** What an attempt takes of its endpoint. */
export type Configuration = Pick<ClaimedDelivery, "url" | "sealedSecret" | "quarantined" | "revision">;

/**
 * Reads how endpoints are configured now, in the order of their ids; undefined for one that is disabled or deleted.
 *
 * Locks nothing. Walks webhook_endpoint_pkey.
 */
export async function readConfiguration(
  queries: Queries,
  endpointIds: readonly string[],
): Promise<(Configuration | undefined)[]> {
  const rows = await queries.$queryRaw<(Configuration & { id: string })[]>`
    select id, url, sealed_secret as "sealedSecret", quarantined_at is not null as "quarantined", revision from webhook_endpoint
    where id = any (${[...new Set(endpointIds)]}::uuid[]) and enabled`;
  const byId = new Map(rows.map(({ id, ...configuration }) => [id, configuration]));
  return endpointIds.map((endpointId) => byId.get(endpointId));
}
