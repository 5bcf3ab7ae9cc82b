import { Prisma } from "../../database/generated/client.ts";

// Pieces of the statements that show deliveries. Each stands where the row of a delivery is called `delivery`.

/**
 * The id of a delivery's event; null for a manual delivery. It is a subquery and no join, so that PostgreSQL looks in one
 * partition a delivery, whatever number of deliveries it expects.
 */
const businessEventId = Prisma.sql`(
  select event.id
  from business_event as event
  where event.organization_id = delivery.organization_id and event.key = delivery.event_key
)`;

const latestAttempt = Prisma.sql`
  delivery.event_type as "eventType", delivery.state::text as state, delivery.attempt_count as "attemptCount",
  delivery.status_code as "statusCode", delivery.error_summary as "errorSummary", delivery.attempted_at as "attemptedAt"`;

/** What a summary shows of a delivery: its latest attempt. */
export const summaryColumns = Prisma.sql`
  delivery.id, ${businessEventId} as "businessEventId", ${latestAttempt}`;

/** The columns of a delivery's latest attempt, as a JSON object. */
export const summaryObject = Prisma.sql`json_build_object(
  'id', delivery.id,
  'businessEventId', ${businessEventId},
  'eventType', delivery.event_type,
  'state', delivery.state,
  'attemptCount', delivery.attempt_count,
  'statusCode', delivery.status_code,
  'errorSummary', delivery.error_summary,
  'attemptedAt', delivery.attempted_at
)`;

const progress = Prisma.sql`
  delivery.failure_kind as "failureKind", delivery.created_at as "createdAt", delivery.duration_ms as "durationMs",
  coalesce(due.is_leased, false) as "inFlight", due.due_at as "nextAttemptAt"`;

/** What a row of an endpoint's history shows. {@link due} has to be joined. */
export const historyColumns = Prisma.sql`${summaryColumns}, ${progress}`;

/** What a row of an endpoint's history shows, without the event's id. {@link due} has to be joined. */
export const deliveryColumns = Prisma.sql`delivery.id, ${latestAttempt}, ${progress}`;

/**
 * Joins the row of `due` of an unfinished delivery. `offset 0` keeps PostgreSQL from reading all of `due` for the few
 * deliveries of an answer.
 */
export function due(now: Date): Prisma.Sql {
  return Prisma.sql`
    left join lateral (
      select due_at, claim_id is not null and due_at > ${now}::timestamptz as is_leased
      from due
      where due.delivery_id = delivery.id and delivery.state = 'pending'
      offset 0
    ) as due on true`;
}
