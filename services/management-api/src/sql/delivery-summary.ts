import type { Queries } from "@herald/common/database/queries";
import type { DeliveryRow } from "../deliveries/summary.ts";

/** One delivery by its latest attempt; null where there is none with this id. Locks nothing. Walks delivery_pkey. */
export async function deliverySummary(queries: Queries, id: string): Promise<DeliveryRow | null> {
  const [row] = await queries.$queryRaw<DeliveryRow[]>`
    select id, business_event_id as "businessEventId", event_type as "eventType", state::text,
           attempt_count as "attemptCount", status_code as "statusCode", error_summary as "errorSummary",
           attempted_at as "attemptedAt"
    from delivery
    where id = ${id}::uuid`;
  return row ?? null;
}
