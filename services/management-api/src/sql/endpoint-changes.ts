import type { Reads } from "@herald/common/database/queries";
import type { ChangedBy, EventType } from "@herald/contracts";
import { type ChangeCursor, NO_RESEND } from "../endpoints/change-cursor.ts";

export interface Settings {
  name: string;
  url: string;
  enabled: boolean;
  events: EventType[];
}

/** An entry of the trail: a change of settings, or a resend, which touches none. */
export interface ChangeRow extends ChangeCursor {
  changedAt: Date;
  changedBy: ChangedBy;
  subject: string | null;
  name: string | null;
  before: Settings | null;
  after: Settings;
  secretReplaced: boolean;
  /** How many deliveries a resend was started for; null for a change. */
  resent: number | null;
}

/**
 * The trail of an endpoint before a place in it, newest first: its changes, and between them its resends, each after the change that
 * made the revision of its time. The caller knows that the endpoint is the organization's.
 *
 * Locks nothing. Walks endpoint_change_pkey and resend_endpoint_id_id_idx backwards.
 */
export async function endpointChanges(
  queries: Reads,
  { endpointId, olderThan, limit }: { endpointId: string; olderThan: ChangeCursor | null; limit: number },
): Promise<ChangeRow[]> {
  const { revision, resendId } = olderThan ?? { revision: 2n ** 63n - 1n, resendId: NO_RESEND };
  return await queries.$queryRaw<ChangeRow[]>`
    select * from (
      (
        select revision, ${NO_RESEND}::uuid as "resendId", changed_at as "changedAt", changed_by::text as "changedBy", subject, name,
               before, after, secret_replaced as "secretReplaced", null::int as resent
        from endpoint_change
        where endpoint_id = ${endpointId}::uuid
          and revision <= ${revision}::bigint
          and (revision < ${revision}::bigint or ${resendId}::uuid > ${NO_RESEND}::uuid)
        order by revision desc
        limit ${limit}::int
      ) union all (
        select revision, id, started_at, 'admin', subject, name, '{}', '{}', false, total
        from resend
        where endpoint_id = ${endpointId}::uuid and (revision, id) < (${revision}::bigint, ${resendId}::uuid)
        order by id desc
        limit ${limit}::int
      )
    ) as entry
    order by revision desc, "resendId" desc
    limit ${limit}::int`;
}
