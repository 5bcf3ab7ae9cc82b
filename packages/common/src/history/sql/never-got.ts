import { Prisma } from "../../database/generated/client.ts";

// A receiver never got these: its deliveries that were given up, and that no resend has taken up since. The management API counts
// them, and the publisher sends them again; both mean the same by these pieces.

/**
 * Whether the row `delivery` was given up by then, and passes a filter. Of one that expired nothing says when, so its last attempt
 * counts. It stands where a row `filter` has `subscribed` (the events that the endpoint takes), `event_types`, `status_codes`, `from_at`
 * and `to_at` as a history's filter has them, and `started_at`.
 */
export const wasGivenUp = Prisma.sql`(
  delivery.state in ('exhausted', 'expired')
  and coalesce(delivery.attempted_at, delivery.created_at) <= filter.started_at
  and delivery.event_type = any (filter.subscribed)
  and (cardinality(filter.event_types) = 0 or delivery.event_type = any (filter.event_types))
  and (cardinality(filter.status_codes) = 0 or delivery.status_code = any (filter.status_codes))
  and (filter.from_at is null or delivery.created_at >= filter.from_at)
  and (filter.to_at is null or delivery.created_at < filter.to_at)
)`;

/**
 * Selects the rows of `given_up` that were not sent again. A row was sent again if a newer delivery of the endpoint has its id in `resend_of`. If the
 * newer delivery is given up too, only that one is selected. The statement around it needs a relation `endpoint` with a column `id`, and `given_up`
 * with the columns `id`, `event_key`, `event_type`, `created_at` and `bytes`, in this order.
 *
 * Both sides are read once and sorted together. There is no join: if PostgreSQL expects too few rows, it chooses a nested loop, which reads one side
 * again for each row of the other. Walks delivery_endpoint_id_resend_of_idx over the ids of `given_up`, in the
 * partitions from theirs on.
 */
export const neverSentAgain = Prisma.sql`(
  select id, event_key, event_type, created_at, bytes
  from (
    select entry.*, bool_or(is_newer) over (partition by id) as is_sent_again
    from (
      select id, event_key, event_type, created_at, bytes, false as is_newer from given_up
      union all
      select newer.resend_of, null, null, null, null, true
      from delivery as newer
      where newer.endpoint_id = (select id from endpoint)
        and newer.id > (select id from given_up order by id limit 1)
        and newer.resend_of >= (select id from given_up order by id limit 1)
        and newer.resend_of <= (select id from given_up order by id desc limit 1)
    ) as entry
  ) as entry
  where not is_newer and not is_sent_again
)`;
