import { Prisma } from "@herald/common/database/generated/client";
import type { Reads } from "@herald/common/database/queries";
import type { EventSearch } from "@herald/common/history/search-events";

export type SoughtId = Pick<EventSearch, "eventId" | "entityId" | "deliveryId">;

/** An id is one event's, and an entity one organization's: several have it only by a product service's mistake. */
const AT_MOST = 100;

/**
 * The organizations that have an endpoint, and an event with this id or about this entity; the one that has this delivery; and those of which
 * an event with this id came and was not taken, whether they have an endpoint or not: it may have named a wrong one.
 *
 * Locks nothing. Reads the endpoints, which are few, and looks for each organization into
 * business_event_organization_id_id_idx or business_event_organization_id_entity_id_key_idx, once a partition. So it takes a
 * moment where there are very many organizations; only an operator asks. A delivery is looked for in delivery_pkey, in one partition.
 */
export async function organizationsWith(
  queries: Reads,
  { eventId, entityId, deliveryId }: SoughtId,
): Promise<string[]> {
  const fits = eventId === null ? Prisma.sql`entity_id = ${entityId}::uuid` : Prisma.sql`id = ${eventId}::uuid`;
  const rows = await queries.$queryRaw<{ id: string }[]>`
    select organization.id as id
    from (select distinct organization_id as id from webhook_endpoint) as organization
    cross join lateral (
      select from business_event where organization_id = organization.id and ${fits} limit 1
    ) as event
    union
    select organization_id from undelivered_event where event_id = ${eventId}::uuid
    union
    select organization_id from delivery where id = ${deliveryId}::uuid
    order by id
    limit ${AT_MOST}::int`;
  return rows.map(({ id }) => id);
}
