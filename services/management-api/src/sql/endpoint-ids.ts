import type { Reads } from "@herald/common/database/queries";

/** The ids of an organization's endpoints. Locks nothing. Walks webhook_endpoint_organization_id_id_idx. */
export async function endpointIdsOf(queries: Reads, organizationId: string): Promise<string[]> {
  const rows = await queries.$queryRaw<{ id: string }[]>`
    select id from webhook_endpoint where organization_id = ${organizationId}`;
  return rows.map(({ id }) => id);
}
