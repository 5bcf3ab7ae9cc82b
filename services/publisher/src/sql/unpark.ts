import type { Queries } from "@herald/common/database/queries";

/**
 * Makes a page of an enabled endpoint's parked deliveries pending again, each due by its own delay: what was due while
 * the endpoint was disabled is due now, and so is what was never attempted. Returns how many there were.
 *
 * Locks those deliveries, skips those that others lock. Walks delivery_parked.
 */
export async function unpark(
  queries: Queries,
  { endpointId, now, pageSize }: { endpointId: string; now: Date; pageSize: number },
): Promise<number> {
  return await queries.$executeRaw`
    update delivery
    set state = 'pending',
        next_attempt_at = case when attempt_count = 0 then ${now}::timestamptz else next_attempt_at end
    where id in (
      select delivery.id
      from delivery
      where delivery.endpoint_id = ${endpointId}::uuid
        and delivery.state = 'parked'
        and exists (select from webhook_endpoint where id = ${endpointId}::uuid and enabled)
      order by delivery.id
      limit ${pageSize}
      for update of delivery skip locked
    )`;
}
