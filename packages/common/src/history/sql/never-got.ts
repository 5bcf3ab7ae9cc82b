import { Prisma } from "../../database/generated/client.ts";

// What a receiver never got: its deliveries that were given up, and that no resend has taken up since. The management API counts
// them, and the publisher sends them again; both mean the same by these pieces.

/**
 * Whether the row `delivery` was given up by then, and passes a filter. It stands where a row `filter` has `subscribed` (the events
 * that the endpoint takes), `event_types`, `status_codes`, `from_at` and `to_at` as a history's filter has them, and `started_at`.
 */
export const wasGivenUp = Prisma.sql`(
  delivery.state = 'exhausted'
  and delivery.attempted_at <= filter.started_at
  and delivery.event_type = any (filter.subscribed)
  and (cardinality(filter.event_types) = 0 or delivery.event_type = any (filter.event_types))
  and (cardinality(filter.status_codes) = 0 or delivery.status_code = any (filter.status_codes))
  and (filter.from_at is null or delivery.created_at >= filter.from_at)
  and (filter.to_at is null or delivery.created_at < filter.to_at)
)`;

/**
 * Whether a resend has sent the row `delivery` again: the id of the new delivery is a function of both. If that one is given up too,
 * it stands for the old one from then on. Walks resend_endpoint_id_id_idx, and delivery_pkey once for each resend that has passed
 * the row. A subquery with a limit, since for `exists` PostgreSQL might read all deliveries.
 */
export const wasSentAgain = Prisma.sql`(
  select resent.id
  from resend as earlier
  cross join lateral (
    select id from delivery as newer where newer.id = delivery_id(earlier.id, delivery.id) offset 0
  ) as resent
  where earlier.endpoint_id = delivery.endpoint_id and delivery.id between earlier.begin_id and earlier.cursor_id
  limit 1
) is not null`;
