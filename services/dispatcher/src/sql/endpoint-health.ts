import { changeId, noticeId } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";
import { settingsOf } from "@herald/common/database/trail";
import type { Health, HealthStep } from "./rows.ts";

/** An endpoint's stored health, and whose it is; undefined if the endpoint is deleted. Locks nothing. Walks webhook_endpoint_pkey. */
export async function readHealth(
  queries: Queries,
  endpointId: string,
): Promise<(Health & { organizationId: string }) | undefined> {
  const [health] = await queries.$queryRaw<(Health & { organizationId: string })[]>`
    select organization_id as "organizationId", revision, enabled, failure_run as "failureRun", failed_at as "failedAt", paused_until as "pausedUntil",
      failing_told as "failingTold", failing_told_at as "failingToldAt"
    from webhook_endpoint where id = ${endpointId}::uuid`;
  return health;
}

/**
 * Writes a step of an endpoint's health, and with it its notice, and the change if it disables the endpoint, so that no crash comes between them.
 * Returns false if nothing was written: the endpoint is not as `before` any more, or another transaction holds its row. The caller reads again.
 *
 * Locks that endpoint's row; does not wait for it, and then writes the very version that it locked (`ctid`). Walks webhook_endpoint_pkey.
 */
export async function writeHealth(
  queries: Queries,
  endpointId: string,
  { before, step, now }: { before: Health; step: HealthStep; now: Date },
): Promise<boolean> {
  const written = await queries.$queryRaw<unknown[]>`
    with free as materialized (
      select ctid from webhook_endpoint
      where id = ${endpointId}::uuid
        and enabled
        and revision = ${before.revision}
        and failure_run = ${before.failureRun}::text[]
        and paused_until is not distinct from ${before.pausedUntil}::timestamptz
      for no key update skip locked
    ), written as (
      update webhook_endpoint as endpoint
      set consecutive_failures = cardinality(${step.failureRun}::text[]),
          failure_run = ${step.failureRun}::text[],
          failed_at = ${step.failedAt}::timestamptz,
          paused_until = ${step.pausedUntil}::timestamptz,
          failing_told = ${step.failingTold}::boolean,
          failing_told_at = ${step.failingToldAt}::timestamptz,
          enabled = not ${step.disabled}::boolean,
          disabled_reason = case when ${step.disabled}::boolean then 'failures'::disabled_reason end,
          disabled_at = case when ${step.disabled}::boolean then ${now}::timestamptz end,
          updated_at = case when ${step.disabled}::boolean then ${now}::timestamptz else updated_at end,
          -- The version changes with the configuration, and not when deliveries are counted.
          revision = revision + (${step.disabled}::boolean)::int
      from free
      where endpoint.id = ${endpointId}::uuid and endpoint.ctid = free.ctid
      returning endpoint.id, organization_id, name, url, revision, ${settingsOf("endpoint")} as settings
    ), recorded as (
      insert into endpoint_change (id, organization_id, endpoint_id, endpoint_name, revision, changed_at, changed_by, before, after)
      select ${changeId(now, before.revision + 1n)}::uuid, organization_id, id, name, revision, ${now}::timestamptz, 'herald',
        settings || '{"enabled": true}', settings
      from written
      where ${step.disabled}::boolean
    ), told as (
      insert into notice (id, type, organization_id, endpoint_id, endpoint_name, endpoint_url, failure_run, occurred_at, publish_at)
      select ${noticeId(now)}::uuid, ${step.notice}::notice_type, organization_id, id, name, url, ${step.noticeRun}::text[],
        ${now}::timestamptz, ${now}::timestamptz
      from written
      where ${step.notice}::text is not null
    )
    select id from written`;
  return written.length > 0;
}

/**
 * Writes since when no dispatcher could open the signing secret of endpoints; null if one can again. An existing time stays.
 *
 * Locks the endpoints' rows that change, and skips those that others lock. Walks webhook_endpoint_pkey.
 */
export async function writeQuarantine(
  queries: Queries,
  endpointIds: readonly string[],
  since: Date | null,
): Promise<void> {
  await queries.$executeRaw`
    update webhook_endpoint
    set quarantined_at = ${since}::timestamptz
    where id in (
      select id from webhook_endpoint
      where id = any (${[...new Set(endpointIds)].sort()}::uuid[]) and (quarantined_at is null) = ${since !== null}::boolean
      order by id
      for no key update skip locked
    )`;
}

/** The outcomes of one endpoint's attempts that began within one hour. */
export interface HourOfAttempts {
  endpointId: string;
  hour: Date;
  succeeded: number;
  failed: number;
  /** The number of attempts by duration, in the buckets of `DURATION_BOUNDS_MS`. */
  durations: readonly number[];
}

/**
 * Adds to endpoints' hours. Each endpoint and hour may be there once. Deleted endpoints are left out. Returns the hours whose rows another transaction
 * holds: they are not written.
 *
 * Locks the other rows of endpoint_hour; inserts new ones in the order of their key, so that two dispatchers do not deadlock. Walks
 * endpoint_hour_pkey, webhook_endpoint_pkey.
 */
export async function writeRates<Hour extends HourOfAttempts>(
  queries: Queries,
  hours: readonly Hour[],
): Promise<Hour[]> {
  const taken = await queries.$queryRaw<{ position: number }[]>`
    with added as materialized (
      select * from unnest(
        ${hours.map(({ endpointId }) => endpointId)}::uuid[],
        ${hours.map(({ hour }) => hour)}::timestamptz[],
        ${hours.map(({ succeeded }) => succeeded)}::int[],
        ${hours.map(({ failed }) => failed)}::int[],
        ${hours.map(({ durations }) => `{${durations.join()}}`)}::text[]
      ) with ordinality as added (endpoint_id, hour, succeeded, failed, durations, position)
    ), free as materialized (
      select position from added join endpoint_hour using (endpoint_id, hour)
      for no key update of endpoint_hour skip locked
    ), taken as materialized (
      select position from added join endpoint_hour using (endpoint_id, hour)
      where position not in (select position from free)
    ), written as (
      insert into endpoint_hour (endpoint_id, hour, succeeded, failed, durations)
      select endpoint_id, hour, succeeded, failed, durations::int[] from added
      where position not in (select position from taken)
        and exists (select from webhook_endpoint where id = endpoint_id)
      order by endpoint_id, hour
      on conflict (endpoint_id, hour) do update
      set succeeded = endpoint_hour.succeeded + excluded.succeeded,
          failed = endpoint_hour.failed + excluded.failed,
          durations = array (
            select before + more
            from unnest(endpoint_hour.durations, excluded.durations) with ordinality as bucket (before, more, position)
            order by position
          )
    )
    select position::int as "position" from taken`;
  return taken.map(({ position }) => hours[position - 1] as Hour);
}
