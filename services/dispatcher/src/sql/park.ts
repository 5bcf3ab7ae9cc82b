import type { Queries } from "@herald/common/database/queries";

/**
 * Sets a page of the disabled endpoints' due deliveries aside, with the time at which each is due kept. Returns how many.
 *
 * Locks those deliveries, skips those that others lock. Walks delivery_pending, once an endpoint.
 */
export async function park(
  queries: Queries,
  { endpointIds, now, pageSize }: { endpointIds: readonly string[]; now: Date; pageSize: number },
): Promise<number> {
  return await queries.$executeRaw`
    update delivery
    set state = 'parked'
    where id in (
      select delivery.id
      from webhook_endpoint as endpoint
      join delivery on delivery.endpoint_id = endpoint.id
      where endpoint.id = any (${endpointIds}::uuid[])
        and not endpoint.enabled
        and delivery.state = 'pending'
        and delivery.next_attempt_at <= ${now}::timestamptz
      limit ${pageSize}
      for update of delivery skip locked
    )`;
}
