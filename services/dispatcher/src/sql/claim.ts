import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import type { FailureKind } from "@herald/contracts";

/** A delivery that this process has claimed, with all that one attempt needs. */
export interface ClaimedDelivery {
  deliveryId: string;
  endpointId: string;
  organizationId: string;
  eventType: string;
  /** Which attempt this is: 1 to 5. */
  attempt: number;
  /** The request body, byte for byte. */
  body: string;
  /** As configured when it was claimed: a retry uses the current URL and the current secret (SPEC 2.3). */
  url: string;
  sealedSecret: string;
  /** The endpoint's revision at that time. A result of an older revision does not count for or against the endpoint. */
  revision: bigint;
  /** The trace context of this claim where claims are traced, else of the event; null where there is none. */
  traceparent: string | null;
  createdAt: Date;
  /** When the delivery is due again if its attempt is not settled by then. */
  leasedUntil: Date;
}

export interface ClaimTimes {
  now: Date;
  /** When the delivery is due again if this process dies before it settles the attempt. */
  leasedUntil: Date;
  /** Attempts of a delivery at the most. */
  maxAttempts: number;
}

/** Deliveries of an endpoint that are wanted now. */
export interface EndpointDemand {
  endpointId: string;
  count: number;
}

/** The error summary of an attempt whose lease ran out. */
const INTERRUPTED = "interrupted: the dispatcher ended before the result was recorded";
const INTERRUPTED_KIND: FailureKind = "interrupted";

/**
 * Claims the hinted deliveries among `deliveryIds` that are due: those that were never attempted, at once, and others by
 * their time. Deliveries that another process has claimed are left alone.
 *
 * The state is compared as text: else PostgreSQL, whose statistics mostly come from a time when nothing was pending, chooses
 * delivery_pending, and reads a whole backlog for each batch.
 *
 * Locks those deliveries, skips those that others lock. Walks delivery_pkey.
 */
export async function claimHinted(
  queries: Queries,
  deliveryIds: readonly string[],
  times: ClaimTimes,
): Promise<ClaimedDelivery[]> {
  return await claim(
    queries,
    times,
    Prisma.sql`
      select id, attempt_count, in_flight, next_attempt_at from delivery
      where id = any (${deliveryIds}::uuid[])
        and state::text = 'pending'
        and (attempt_count = 0 or next_attempt_at <= ${times.now}::timestamptz)
      for update skip locked`,
  );
}

/**
 * Claims up to `count` deliveries of each endpoint in `demands`: what is due, oldest first, then what was never
 * attempted and waits for its hint. Each endpoint has its own limit, so that a large backlog of one hides no other's.
 *
 * Locks those deliveries, skips those that others lock. Walks delivery_pending, once an endpoint.
 *
 * @param times `hintGraceUntil` is where the hints' grace ends: new deliveries lie no further ahead
 */
export async function claimOfEndpoints(
  queries: Queries,
  demands: readonly EndpointDemand[],
  times: ClaimTimes & { hintGraceUntil: Date },
): Promise<ClaimedDelivery[]> {
  return await claim(
    queries,
    times,
    Prisma.sql`
      select delivery.id, delivery.attempt_count, delivery.in_flight, delivery.next_attempt_at
      from unnest(
        ${demands.map((demand) => demand.endpointId)}::uuid[],
        ${demands.map((demand) => demand.count)}::int[]
      ) as demand (endpoint_id, count)
      cross join lateral (
        select id, attempt_count, in_flight, next_attempt_at from delivery
        where delivery.endpoint_id = demand.endpoint_id
          and state = 'pending'
          and next_attempt_at <= ${times.hintGraceUntil}::timestamptz
          and (attempt_count = 0 or next_attempt_at <= ${times.now}::timestamptz)
        order by next_attempt_at
        limit demand.count
        for update skip locked
      ) as delivery`,
  );
}

/**
 * The claim itself: one update decides what becomes of each wanted delivery.
 * - Its last attempt was cut off, and it was the fifth: exhausted.
 * - Its endpoint is disabled: parked.
 * - Else it is claimed: the attempt is counted now, so that it counts also after a crash, and the lease begins.
 * An attempt that was cut off is recorded with status 503.
 */
async function claim(
  queries: Queries,
  { now, leasedUntil, maxAttempts }: ClaimTimes,
  wanted: Prisma.Sql,
): Promise<ClaimedDelivery[]> {
  // The attempt that was cut off began when its lease did.
  const interruptedAt = Prisma.sql`wanted.next_attempt_at - (${leasedUntil}::timestamptz - ${now}::timestamptz)`;
  return await queries.$queryRaw<ClaimedDelivery[]>`
    with wanted as materialized (
      ${wanted}
    ), interrupted as (
      insert into delivery_attempt (delivery_id, number, started_at, duration_ms, status_code, error_summary, failure_kind)
      select id, attempt_count, ${interruptedAt}, 0, 503, ${INTERRUPTED}, ${INTERRUPTED_KIND}
      from wanted
      where in_flight
      on conflict (delivery_id, number) do nothing
    ), decided as (
      update delivery
      set state = case
            when wanted.attempt_count >= ${maxAttempts} then 'exhausted'::delivery_state
            when not endpoint.enabled then 'parked'
            else 'pending'
          end,
          attempt_count = wanted.attempt_count + (endpoint.enabled and wanted.attempt_count < ${maxAttempts})::int,
          next_attempt_at = case
            when wanted.attempt_count >= ${maxAttempts} then null
            when not endpoint.enabled then wanted.next_attempt_at
            else ${leasedUntil}::timestamptz
          end,
          in_flight = endpoint.enabled and wanted.attempt_count < ${maxAttempts},
          status_code = case when wanted.in_flight then 503 else delivery.status_code end,
          error_summary = case when wanted.in_flight then ${INTERRUPTED} else delivery.error_summary end,
          failure_kind = case when wanted.in_flight then ${INTERRUPTED_KIND} else delivery.failure_kind end,
          attempted_at = case when wanted.in_flight then ${interruptedAt} else delivery.attempted_at end
      from wanted, webhook_endpoint as endpoint
      where delivery.id = wanted.id and endpoint.id = delivery.endpoint_id
      returning delivery.id, delivery.endpoint_id, delivery.organization_id, delivery.business_event_id,
        delivery.event_type, delivery.attempt_count, delivery.body, delivery.in_flight, delivery.created_at,
        delivery.next_attempt_at,
        endpoint.url, endpoint.sealed_secret, endpoint.revision
    )
    select
      decided.id as "deliveryId",
      decided.endpoint_id as "endpointId",
      decided.organization_id as "organizationId",
      decided.event_type as "eventType",
      decided.attempt_count as "attempt",
      coalesce(decided.body, event.body) as "body",
      decided.url as "url",
      decided.sealed_secret as "sealedSecret",
      decided.revision as "revision",
      event.traceparent as "traceparent",
      decided.created_at as "createdAt",
      decided.next_attempt_at as "leasedUntil"
    from decided
    left join business_event as event
      on event.organization_id = decided.organization_id and event.id = decided.business_event_id
    where decided.in_flight`;
}

/**
 * Undoes a claim whose attempt could not begin for a reason of Herald's own. The attempt does not count, and the delivery is
 * due again at `dueAt`. Does nothing where the lease ran out and another process has claimed the delivery since.
 *
 * Locks the delivery. Walks delivery_pkey; for the comparison as text see `claimHinted`.
 */
export async function unclaim(
  queries: Queries,
  { deliveryId, attempt, dueAt }: { deliveryId: string; attempt: number; dueAt: Date },
): Promise<void> {
  await queries.$executeRaw`
    update delivery
    set attempt_count = attempt_count - 1, in_flight = false, next_attempt_at = ${dueAt}::timestamptz
    where id = ${deliveryId}::uuid and state::text = 'pending' and in_flight and attempt_count = ${attempt}`;
}
