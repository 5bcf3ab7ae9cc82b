import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import { RECENT_DELIVERIES } from "@herald/contracts";
import type { DeliveryRow } from "../deliveries/summary.ts";

/** What a summary shows of a delivery: its latest attempt. */
const summaryColumns = Prisma.sql`
  id, business_event_id as "businessEventId", event_type as "eventType", state::text, attempt_count as "attemptCount",
  status_code as "statusCode", error_summary as "errorSummary", attempted_at as "attemptedAt"`;

/** One delivery; null where no delivery has this id. Locks nothing. Walks delivery_pkey. */
export async function deliverySummary(queries: Queries, id: string): Promise<DeliveryRow | null> {
  const [row] = await queries.$queryRaw<DeliveryRow[]>`
    select ${summaryColumns} from delivery where id = ${id}::uuid`;
  return row ?? null;
}

/**
 * One endpoint's share of its organization's most recent deliveries, newest first: the same share that the list of
 * endpoints shows. Locks nothing. Walks delivery_organization_id_id_idx backwards and stops at 200.
 */
export async function recentDeliveries(
  queries: Queries,
  { organizationId, endpointId }: { organizationId: string; endpointId: string },
): Promise<DeliveryRow[]> {
  return await queries.$queryRaw<DeliveryRow[]>`
    select ${summaryColumns}
    from (
      select * from delivery where organization_id = ${organizationId} order by id desc limit ${RECENT_DELIVERIES}
    ) as recent
    where endpoint_id = ${endpointId}::uuid
    order by id desc`;
}
