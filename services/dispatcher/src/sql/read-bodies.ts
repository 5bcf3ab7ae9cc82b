import { firstIdAt, lastIdAt, timeOf } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";

/** Where a body is stored: with its event, or in a manual delivery's own row. */
export interface BodySource {
  organizationId: string;
  eventKey: string | null;
  deliveryId: string;
}

/**
 * Reads bodies, in the order of their sources; null for one that is gone.
 *
 * Locks nothing. Walks business_event_pkey and delivery_pkey. The bounds let a cached plan leave out all other days at its start.
 */
export async function readBodies(queries: Queries, sources: readonly BodySource[]): Promise<(string | null)[]> {
  const ids = sources.map(({ eventKey, deliveryId }) => eventKey ?? deliveryId).sort();
  const [first = "", last = ""] = [ids[0], ids.at(-1)];
  const rows = await queries.$queryRaw<{ position: number; body: string | null }[]>`
    select source.position::int as "position", coalesce(event.body, delivery.body) as "body"
    from unnest(
      ${sources.map((source) => source.organizationId)}::text[],
      ${sources.map((source) => source.eventKey)}::uuid[],
      ${sources.map((source) => source.deliveryId)}::uuid[]
    ) with ordinality as source (organization_id, event_key, delivery_id, position)
    left join lateral (
      select body from business_event
      where organization_id = source.organization_id and key = source.event_key
        and key between ${firstIdAt(timeOf(first))}::uuid and ${lastIdAt(timeOf(last))}::uuid
      offset 0
    ) as event on true
    left join lateral (
      select body from delivery
      where source.event_key is null and id = source.delivery_id and id between ${first}::uuid and ${last}::uuid
      offset 0
    ) as delivery on true`;
  const bodies: (string | null)[] = sources.map(() => null);
  for (const { position, body } of rows) bodies[position - 1] = body;
  return bodies;
}
