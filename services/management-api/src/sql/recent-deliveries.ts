import type { PrismaClient } from "@herald/common/database/generated/client";
import { RECENT_DELIVERIES } from "@herald/contracts";
import type { DeliveryRow } from "../deliveries/summary.ts";

/**
 * One endpoint's share of its organization's most recent deliveries, newest first: the same that the listing shows.
 * Locks nothing. Walks delivery_organization_id_id_idx backwards and stops at 200.
 */
export async function recentDeliveries(
  prisma: PrismaClient,
  { organizationId, endpointId }: { organizationId: string; endpointId: string },
): Promise<DeliveryRow[]> {
  return await prisma.$queryRaw<DeliveryRow[]>`
    select id, business_event_id as "businessEventId", event_type as "eventType", state::text,
           attempt_count as "attemptCount", status_code as "statusCode", error_summary as "errorSummary",
           attempted_at as "attemptedAt"
    from (
      select * from delivery where organization_id = ${organizationId} order by id desc limit ${RECENT_DELIVERIES}
    ) as recent
    where endpoint_id = ${endpointId}::uuid
    order by id desc`;
}
