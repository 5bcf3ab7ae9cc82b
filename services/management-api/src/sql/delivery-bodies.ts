import type { Reads } from "@herald/common/database/queries";

/**
 * The bodies of the first of these deliveries, in their order: of as many as have `maxBytes` together, and of the first in any
 * case. A body is null where the organization has no such delivery, or its event is no longer stored.
 *
 * Locks nothing. Walks delivery_pkey and business_event_pkey once a delivery. The bodies that come after `maxBytes` are not read:
 * PostgreSQL knows the length of a text without it.
 */
export async function deliveryBodies(
  queries: Reads,
  { organizationId, ids, maxBytes }: { organizationId: string; ids: readonly string[]; maxBytes: number },
): Promise<(string | null)[]> {
  const rows = await queries.$queryRaw<{ body: string | null }[]>`
    select body
    from (
      select sought.place, found.body, sum(coalesce(octet_length(found.body), 0)) over (order by sought.place) as bytes
      from unnest(${ids}::uuid[]) with ordinality as sought (id, place)
      left join lateral (
        select coalesce(delivery.body, (
                 select event.body
                 from business_event as event
                 where event.organization_id = delivery.organization_id and event.key = delivery.event_key
               )) as body
        from delivery
        where delivery.id = sought.id and delivery.organization_id = ${organizationId}
        offset 0
      ) as found on true
    ) as sized
    where bytes <= ${maxBytes}::bigint or place = 1
    order by place`;
  return rows.map(({ body }) => body);
}
