import { Prisma, type PrismaClient } from "@herald/common/database/generated/client";
import type { StoredDelivery } from "../verdict/history.ts";

export interface Progress {
  finished: number;
  unfinished: number;
  /** Notices that the product has not got yet: those that a publisher held when it was killed come after a minute. */
  notices: number;
}

/** Of the organizations of these buckets: a cell that was split keeps the history of those that it gave away. */
const inBuckets = (buckets: readonly string[]) =>
  Prisma.sql`left(encode(sha256(convert_to(delivery.organization_id, 'UTF8')), 'hex'), 1) = any (${buckets}::text[])`;

/** How many deliveries of these buckets have come to their end, and what is still to be done. */
export async function progressOf(prisma: PrismaClient, buckets: readonly string[]): Promise<Progress> {
  const [row] = await prisma.$queryRaw<Progress[]>`
    select
      (count(*) filter (where state <> 'pending'))::int as "finished",
      (count(*) filter (where state = 'pending') + (select count(*) from due))::int as "unfinished",
      (select count(*) from notice)::int as "notices"
    from delivery
    where ${inBuckets(buckets)}`;
  if (!row) throw new Error("PostgreSQL answered an aggregate with no row.");
  return row;
}

/** Every delivery of these buckets with its attempts. */
export async function storedDeliveries(prisma: PrismaClient, buckets: readonly string[]): Promise<StoredDelivery[]> {
  return await prisma.$queryRaw<StoredDelivery[]>`
    select
      delivery.id,
      delivery.endpoint_id as "endpointId",
      event.id as "eventId",
      delivery.state::text as "state",
      delivery.attempt_count as "attemptCount",
      exists (select from due where due.delivery_id = delivery.id) as "isDue",
      coalesce(made.attempts, '[]') as "attempts"
    from delivery
    left join business_event as event
      on event.organization_id = delivery.organization_id and event.key = delivery.event_key
    left join (
      select
        delivery_id,
        json_agg(json_build_object(
          'number', number,
          'startedAt', (extract(epoch from started_at) * 1000)::bigint,
          'durationMs', duration_ms,
          'statusCode', status_code,
          'errorSummary', error_summary,
          'failureKind', failure_kind
        ) order by number) as attempts
      from attempt group by delivery_id
    ) as made on made.delivery_id = delivery.id
    where ${inBuckets(buckets)}`;
}
