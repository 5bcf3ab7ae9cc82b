import type { Queries } from "@herald/common/database/queries";
import type { FailureKind } from "@herald/contracts";

/** An attempt that has ended. */
export interface Settlement {
  deliveryId: string;
  endpointId: string;
  attempt: number;
  /** The endpoint's revision when the attempt was claimed. */
  revision: bigint;
  startedAt: Date;
  durationMs: number;
  statusCode: number;
  succeeded: boolean;
  errorSummary: string | null;
  failureKind: FailureKind | null;
  responseExcerpt: string | null;
  /** The trace context that was sent, where it was not the event's. */
  traceparent: string | null;
  /** When the delivery is due again if it failed; null when this was its last attempt. */
  nextAttemptAt: Date | null;
}

/** An endpoint whose health these settlements changed. */
export interface EndpointHealth {
  endpointId: string;
  organizationId: string;
  consecutiveFailures: number;
  /** Whether these settlements disabled it. */
  disabled: boolean;
}

/** Consecutive failures that have consequences. */
export interface HealthThresholds {
  /** The product is told that the endpoint is failing. Where this is not less than `disableAfter`, the product is told of the disabling only. */
  failingAfter: number;
  /** The endpoint is disabled, and the product told so (SPEC 3.1). */
  disableAfter: number;
}

/**
 * Writes down how attempts ended, in the order in which they did, and what follows: each delivery's state, each
 * endpoint's run of failures, and the disabling of an endpoint whose run reached `disableAfter` (SPEC 3.1, 3.2).
 *
 * - A success ends its delivery whatever else happened to it meanwhile. A failure counts only for the claim that it
 *   belongs to: one that comes after the lease ran out and another process claimed the delivery is only recorded.
 * - A run that reaches a threshold leaves a notice, written with what it is about, so that no crash comes between the two.
 *   Each threshold has its own notice, however many results one call brings, so that batching changes no notice.
 * - Endpoints are counted only where that changes something: a healthy endpoint's row is neither locked nor written.
 * - A result from before the endpoint's latest edit, or after it was disabled, leaves the endpoint alone.
 * - Deliveries and endpoints that were deleted meanwhile are skipped.
 * - The same settlements, written again, change nothing: a caller that got no answer cannot know whether they were written.
 *
 * Locks: these deliveries; endpoints that fail or recover. A concurrent deletion of an endpoint may end as a deadlock
 * (it takes the endpoint first, then the deliveries): PostgreSQL ends one of both, and a settlement is tried again.
 * Walks: delivery_pkey, webhook_endpoint_pkey, and delivery_attempt_pkey for the results of endpoints that fail or recover.
 */
export async function settle(
  queries: Queries,
  settlements: readonly Settlement[],
  { now, failingAfter, disableAfter }: { now: Date } & HealthThresholds,
): Promise<EndpointHealth[]> {
  const column = <T>(read: (settlement: Settlement) => T) => settlements.map(read);
  return await queries.$queryRaw<EndpointHealth[]>`
    with result as materialized (
      select * from unnest(
        ${column((each) => each.deliveryId)}::uuid[],
        ${column((each) => each.endpointId)}::uuid[],
        ${column((each) => each.attempt)}::int[],
        ${column((each) => each.revision)}::bigint[],
        ${column((each) => each.startedAt)}::timestamptz[],
        ${column((each) => each.durationMs)}::int[],
        ${column((each) => each.statusCode)}::int[],
        ${column((each) => each.succeeded)}::boolean[],
        ${column((each) => each.errorSummary)}::text[],
        ${column((each) => each.failureKind)}::text[],
        ${column((each) => each.responseExcerpt)}::text[],
        ${column((each) => each.traceparent)}::text[],
        ${column((each) => each.nextAttemptAt)}::timestamptz[]
      ) with ordinality as result (
        delivery_id, endpoint_id, attempt, revision, started_at, duration_ms, status_code, succeeded, error_summary,
        failure_kind, response_excerpt, traceparent, next_attempt_at, position
      )
    ), settled as (
      update delivery
      set state = case
            when result.succeeded then 'succeeded'::delivery_state
            when result.next_attempt_at is null then 'exhausted'
            else 'pending'
          end,
          next_attempt_at = case when result.succeeded then null else result.next_attempt_at end,
          in_flight = false,
          status_code = result.status_code,
          error_summary = result.error_summary,
          failure_kind = result.failure_kind,
          attempted_at = result.started_at
      from result
      where delivery.id = result.delivery_id
        -- As text: PostgreSQL, whose statistics mostly show nothing unfinished, would else read everything unfinished first.
        and delivery.state::text <> 'succeeded'
        and (result.succeeded or (delivery.in_flight and delivery.attempt_count = result.attempt))
    ), recorded as (
      insert into delivery_attempt
        (delivery_id, number, started_at, duration_ms, status_code, error_summary, failure_kind, response_excerpt,
          traceparent)
      select delivery_id, attempt, started_at, duration_ms, status_code, error_summary, failure_kind, response_excerpt,
        traceparent
      from result
      where exists (select from delivery where delivery.id = result.delivery_id)
      -- The lease ran out, and a claim recorded this attempt as interrupted: the real result replaces that.
      on conflict (delivery_id, number) do update
      set started_at = excluded.started_at, duration_ms = excluded.duration_ms, status_code = excluded.status_code,
        error_summary = excluded.error_summary, failure_kind = excluded.failure_kind,
        response_excerpt = excluded.response_excerpt, traceparent = excluded.traceparent
    ), endpoint as materialized (
      select id, organization_id, revision, failure_run, name, url
      from webhook_endpoint
      where id = any (${[...new Set(column((each) => each.endpointId))]}::uuid[])
        and enabled
        and (consecutive_failures > 0
          or id = any (${[...new Set(settlements.filter((each) => !each.succeeded).map((each) => each.endpointId))]}::uuid[]))
      -- In one order, so that of two dispatchers one waits for the other, and they do not deadlock.
      order by id
      for no key update
    ), counted as (
      -- A run is what lies between two successes: its number is how many successes came before.
      select result.endpoint_id, result.succeeded, result.position,
        result.delivery_id || '/' || result.attempt as attempt,
        count(*) filter (where result.succeeded)
          over (partition by result.endpoint_id order by result.position) as run
      from result
      join endpoint on endpoint.id = result.endpoint_id and endpoint.revision = result.revision
      -- Settled before, by a statement whose answer was lost. Its snapshot may be older than that, the endpoint's row never is.
      where not (result.delivery_id || '/' || result.attempt = any (endpoint.failure_run))
        and not exists (
          select from delivery_attempt as written
          where written.delivery_id = result.delivery_id
            and written.number = result.attempt
            and written.started_at = result.started_at
            -- An interruption that a claim wrote down is no settlement, though it may bear the same time.
            and written.error_summary is not distinct from result.error_summary
        )
    ), run as (
      select counted.endpoint_id, counted.run,
        case when counted.run = 0 then endpoint.failure_run else '{}' end
          || coalesce(array_agg(counted.attempt order by counted.position) filter (where not counted.succeeded), '{}')
          as failures,
        case when counted.run = 0 then cardinality(endpoint.failure_run) else 0 end as failures_before
      from counted
      join endpoint on endpoint.id = counted.endpoint_id
      group by counted.endpoint_id, counted.run, endpoint.failure_run
    ), judged as (
      select *,
        bool_or(cardinality(failures) >= ${disableAfter})
          over (partition by endpoint_id order by run rows between unbounded preceding and 1 preceding)
          as disabled_before
      from run
    ), noticed as (
      insert into notice
        (type, organization_id, endpoint_id, endpoint_name, endpoint_url, failure_run, occurred_at, publish_at)
      select threshold.type, endpoint.organization_id, endpoint.id, endpoint.name, endpoint.url,
        judged.failures[:threshold.failures], ${now}::timestamptz, ${now}::timestamptz
      from judged
      join endpoint on endpoint.id = judged.endpoint_id
      join (values
        ('endpoint.failing'::notice_type, ${failingAfter}::int),
        ('endpoint.disabled', ${disableAfter}::int)
      ) as threshold (type, failures) on threshold.failures <= cardinality(judged.failures)
      where judged.disabled_before is not true
        -- Once a run. An endpoint that is still enabled was not disabled yet, whatever its count: the setting may be new.
        and (threshold.type = 'endpoint.disabled'
          or (judged.failures_before < threshold.failures and threshold.failures < ${disableAfter}))
      order by judged.endpoint_id, judged.run, threshold.type
    ), verdict as (
      -- The first run that was long enough disables, whatever came after it; else the latest run stands.
      select distinct on (endpoint_id) endpoint_id,
        failures[:${disableAfter}] as failures,
        cardinality(failures) >= ${disableAfter} as disabled
      from run
      order by endpoint_id, cardinality(failures) >= ${disableAfter} desc,
        case when cardinality(failures) >= ${disableAfter} then run end,
        run desc
    )
    update webhook_endpoint
    set consecutive_failures = cardinality(verdict.failures),
        failure_run = verdict.failures,
        enabled = not verdict.disabled,
        disabled_reason = case when verdict.disabled then 'failures'::disabled_reason end,
        disabled_at = case when verdict.disabled then ${now}::timestamptz end,
        updated_at = case when verdict.disabled then ${now}::timestamptz else updated_at end,
        -- The version changes with the configuration, and not when deliveries are counted.
        revision = webhook_endpoint.revision + verdict.disabled::int
    from verdict
    where webhook_endpoint.id = verdict.endpoint_id
    returning webhook_endpoint.id as "endpointId", organization_id as "organizationId",
      consecutive_failures as "consecutiveFailures", verdict.disabled as "disabled"`;
}
