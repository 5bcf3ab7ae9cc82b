import { onDaysOf } from "../../database/days.ts";
import { Prisma } from "../../database/generated/client.ts";
import type { Reads } from "../../database/queries.ts";
import type { HistoryRow } from "../summary.ts";

// Pieces of the statements that show deliveries. Each stands where the row of a delivery is called `delivery`.

/**
 * A delivery's outcome, as the contract defines it; null without a delivery. `enabled` is its endpoint's. An unfinished delivery is
 * stored as `pending`: nothing is written to it when its endpoint is disabled, and it is parked as long as that lasts.
 */
export const outcome = Prisma.sql`case
  when delivery.state = 'pending' and not enabled then 'parked'
  when delivery.state = 'pending' and delivery.attempt_count = 0 then 'waiting'
  when delivery.state = 'pending' then 'failing'
  else delivery.state::text
end`;

/**
 * A column of the event of a delivery; null for a manual delivery, which has no event. It is a subquery instead of a join: for each delivery, PostgreSQL
 * then reads one partition only, also if its planner expects many deliveries.
 */
const ofEvent = (column: Prisma.Sql, onDays?: Prisma.Sql) => Prisma.sql`(
  select event.${column}
  from business_event as event
  where event.organization_id = delivery.organization_id and event.key = delivery.event_key
    ${onDays ? Prisma.sql`and ${onDays}` : Prisma.empty}
)`;

const latestAttempt = Prisma.sql`
  delivery.event_type as "eventType", delivery.state = 'succeeded' as succeeded, delivery.attempt_count as "attemptCount",
  delivery.status_code as "statusCode", delivery.error_summary as "errorSummary", delivery.attempted_at as "attemptedAt"`;

/** The columns of a delivery's summary: its latest attempt. @param onDays a condition on `event.key`, where the deliveries' days are known (days.ts) */
export const summaryColumns = (onDays?: Prisma.Sql) => Prisma.sql`
  delivery.id, ${ofEvent(Prisma.sql`id`, onDays)} as "businessEventId", ${latestAttempt}`;

export const summaryObject = Prisma.sql`json_build_object(
  'id', delivery.id,
  'businessEventId', ${ofEvent(Prisma.sql`id`)},
  'eventType', delivery.event_type,
  'succeeded', delivery.state = 'succeeded',
  'attemptCount', delivery.attempt_count,
  'statusCode', delivery.status_code,
  'errorSummary', delivery.error_summary,
  'attemptedAt', delivery.attempted_at
)`;

/** When an unfinished delivery is due, as its row of `due` has it. */
const dueAt = Prisma.sql`coalesce(delivery.next_attempt_at, delivery.created_at)`;

const isScheduled = Prisma.sql`delivery.state = 'pending' and enabled`;

const progress = (now: Date) => Prisma.sql`
  delivery.failure_kind as "failureKind", delivery.created_at as "createdAt", delivery.duration_ms as "durationMs",
  ${outcome} as outcome, ${isScheduled} and ${dueAt} <= ${now}::timestamptz as "inFlight",
  case when ${isScheduled} and ${dueAt} > ${now}::timestamptz then ${dueAt} end as "nextAttemptAt"`;

/** The columns of a history's row, without its endpoint's name. @param onDays as of {@link summaryColumns} */
export const historyColumns = (now: Date, onDays?: Prisma.Sql) => Prisma.sql`
  ${summaryColumns(onDays)}, ${progress(now)}, delivery.endpoint_id as "endpointId", ${ofEvent(Prisma.sql`entity_id`, onDays)} as "entityId"`;

/** The columns of a history's row, without its event and its endpoint. */
export const deliveryColumns = (now: Date) => Prisma.sql`delivery.id, ${latestAttempt}, ${progress(now)}`;

export interface FoundDelivery extends Omit<HistoryRow, "businessEventId" | "entityId"> {
  eventKey: string | null;
}

/**
 * A delivery with its endpoint; null if the organization has none with this id, of an endpoint that exists.
 *
 * Locks nothing. Walks delivery_pkey in one partition, and webhook_endpoint_pkey.
 */
export async function findDelivery(
  queries: Reads,
  { id, organizationId, now }: { id: string; organizationId: string; now: Date },
): Promise<FoundDelivery | null> {
  const [row] = await queries.$queryRaw<FoundDelivery[]>`
    select delivery.event_key as "eventKey",
           endpoint.id as "endpointId", endpoint.name as "endpointName",
           ${deliveryColumns(now)}
    from delivery
    join webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id
    where delivery.id = ${id}::uuid and ${onDaysOf("delivery.id", [id])} and endpoint.organization_id = ${organizationId}`;
  return row ?? null;
}

/** An event at an endpoint: with the columns of its delivery, all null if there is none. */
export type AtEndpoint = {
  eventKey: string;
  endpointId: string;
  endpointName: string;
  isEndpointEnabled: boolean;
  endpointEvents: string[];
  endpointCreatedAt: Date;
} & (Omit<HistoryRow, "businessEventId" | "entityId" | "endpointId" | "endpointName"> | { id: null });

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
  if (keys.length === 0) return [];
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
      select * from delivery where delivery.id = pair.delivery_id and ${onDaysOf("delivery.id", keys)} offset 0
    ) as delivery on true
    order by pair.event_key desc, lower(pair.name), pair.endpoint_id`;
}
