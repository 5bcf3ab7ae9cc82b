import type { Reads } from "@herald/common/database/queries";
import type { ChangedBy, EventType } from "@herald/contracts";

export interface Settings {
  name: string;
  url: string;
  enabled: boolean;
  events: EventType[];
}

export interface ChangeRow {
  revision: bigint;
  changedAt: Date;
  changedBy: ChangedBy;
  subject: string | null;
  name: string | null;
  before: Settings | null;
  after: Settings;
  secretReplaced: boolean;
}

/**
 * The changes of an endpoint before a revision, newest first. The caller knows that the endpoint is the organization's.
 *
 * Locks nothing. Walks endpoint_change_pkey backwards.
 */
export async function endpointChanges(
  queries: Reads,
  { endpointId, olderThan, limit }: { endpointId: string; olderThan: bigint | null; limit: number },
): Promise<ChangeRow[]> {
  return await queries.$queryRaw<ChangeRow[]>`
    select revision, changed_at as "changedAt", changed_by::text as "changedBy", subject, name, before, after,
           secret_replaced as "secretReplaced"
    from endpoint_change
    where endpoint_id = ${endpointId}::uuid and revision < coalesce(${olderThan}::bigint, 9223372036854775807)
    order by revision desc
    limit ${limit}::int`;
}
