import type { Reads } from "../../database/queries.ts";
import type { HistoryRow } from "../summary.ts";
import { deliveryColumns } from "./delivery-columns.ts";

/** An event at an endpoint: with the columns of its delivery, all null where there is none. */
export type AtEndpoint = {
  eventKey: string;
  endpointId: string;
  endpointName: string;
  isEndpointEnabled: boolean;
  endpointEvents: string[];
  endpointCreatedAt: Date;
} & (
  | Omit<HistoryRow, "businessEventId" | "entityId" | "endpointId" | "endpointName" | "isEndpointEnabled">
  | { id: null }
);

/**
 * For each of these events and each endpoint of the organization, the delivery if there is one: by event, and by the
 * endpoints' names. A delivery's id is a function of event and endpoint, so it is looked for by its id.
 *
 * Locks nothing. Walks webhook_endpoint_organization_id_id_idx, and for each pair delivery_pkey, in one partition.
 */
export async function deliveriesAtEndpoints(
  queries: Reads,
  { organizationId, keys, now }: { organizationId: string; keys: readonly string[]; now: Date },
): Promise<AtEndpoint[]> {
  return await queries.$queryRaw<AtEndpoint[]>`
    select pair.event_key as "eventKey", pair.endpoint_id as "endpointId", pair.name as "endpointName",
           pair.enabled as "isEndpointEnabled", pair.events as "endpointEvents", pair.created_at as "endpointCreatedAt",
           ${deliveryColumns(now)}
    from (
      -- The function is called once a pair: PostgreSQL does not move it into what stands below.
      select event_key, endpoint.id as endpoint_id, name, enabled, events, created_at,
             delivery_id(event_key, endpoint.id) as delivery_id
      from unnest(${keys}::uuid[]) as event_key
      cross join webhook_endpoint as endpoint
      where endpoint.organization_id = ${organizationId}
      offset 0
    ) as pair
    left join lateral (
      select * from delivery where delivery.id = pair.delivery_id offset 0
    ) as delivery on true
    order by pair.event_key desc, lower(pair.name), pair.endpoint_id`;
}
