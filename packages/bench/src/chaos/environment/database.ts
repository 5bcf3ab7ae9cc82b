import type { PrismaClient } from "@herald/common/database/generated/client";
import type { StoredDelivery } from "../verdict/history.ts";

export interface Progress {
  finished: number;
  unfinished: number;
  /** Notices that the product has not got yet: those that a publisher held when it was killed come after a minute. */
  notices: number;
}

/** How many deliveries have come to their end, and what is still to be done. */
export async function progressOf(prisma: PrismaClient): Promise<Progress> {
  const [row] = await prisma.$queryRaw<Progress[]>`
    select
      (count(*) filter (where state in ('succeeded', 'exhausted')))::int as "finished",
      (count(*) filter (where state in ('pending', 'parked')))::int as "unfinished",
      (select count(*) from notice)::int as "notices"
    from delivery`;
  if (!row) throw new Error("PostgreSQL answered an aggregate with no row.");
  return row;
}

/** Every delivery with its attempts. */
export async function storedDeliveries(prisma: PrismaClient): Promise<StoredDelivery[]> {
  return await prisma.$queryRaw<StoredDelivery[]>`
    select
      delivery.id,
      delivery.endpoint_id as "endpointId",
      delivery.business_event_id as "eventId",
      delivery.state::text as "state",
      delivery.attempt_count as "attemptCount",
      coalesce(json_agg(json_build_object(
        'number', attempt.number,
        'startedAt', (extract(epoch from attempt.started_at) * 1000)::bigint,
        'statusCode', attempt.status_code,
        'errorSummary', attempt.error_summary
      ) order by attempt.number) filter (where attempt.number is not null), '[]') as "attempts"
    from delivery
    left join delivery_attempt as attempt on attempt.delivery_id = delivery.id
    group by delivery.id`;
}
