import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import type { FailureKind } from "@herald/contracts";

/** An attempt that has ended. */
export interface Settlement {
  deliveryId: string;
  endpointId: string;
  /** Of its row of `due`, as the attempt found it. */
  dueAt: Date;
  /** In which this dispatcher owned the endpoint's shard when the attempt began. */
  epoch: number;
  attempt: number;
  /** The endpoint's revision that the attempt went by. */
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
  /** How long the receiver asks to be left alone; null where it does not. For the endpoint's health. */
  retryAfterMs: number | null;
  /** Whether an admin waits for it, so that it did not wait for a pause. For the endpoint's health. */
  manual: boolean;
  /** Its delivery, where that may not be stored yet. */
  unstored?: ArrivedDelivery | undefined;
}

/** A delivery as the statement that stores its event makes it too, at the settlement's `dueAt`. */
export interface ArrivedDelivery {
  organizationId: string;
  eventKey: string;
  eventType: string;
}

/**
 * Writes down how attempts ended, and what follows for their deliveries. Endpoints are only read: no settlement waits for
 * an endpoint's row. Their health is written behind it (endpoint-health.ts).
 *
 * - A success ends its delivery whatever else happened to it meanwhile, also a failure in the same call. Only one that was given up stays so (SPEC
 *   3.2): it is exhausted or has expired, and the product was told. The success still counts for the endpoint's health.
 * - Where the shard has another owner by now, that may have attempted the delivery too, and moved its row: a success deletes the moved one.
 * - A failure counts only in the epoch in which its attempt began, and only where its row of `due` is as the attempt found it. Then the
 *   delivery waits for its next attempt, or is exhausted, of which the product is told (notices.ts).
 * - The latest attempt is in the delivery's row; the one before it moves to delivery_attempt.
 * - Deliveries that were erased meanwhile, with their endpoint or with their days, are skipped.
 * - The same settlements, written again, change nothing: a caller that got no answer cannot know whether they were written.
 *
 * Locks these rows of `due` and `delivery`. Walks due_pkey, delivery_pkey, delivery_attempt_pkey, shard_pkey.
 * `between` lets a cached plan leave out the partitions in which nothing is settled.
 *
 * @returns the results that came too late: the shard has had another owner since, the delivery had succeeded, or it was gone. They changed nothing
 */
export async function settle(queries: Queries, settlements: readonly Settlement[]): Promise<Settlement[]> {
  const results = onePerDelivery(settlements);
  const ids = results.map(({ deliveryId }) => deliveryId);
  const [first, last] = [ids.at(0), ids.at(-1)];
  const rows = await queries.$queryRaw<{ position: number }[]>`
    with result as materialized (
      select result.*, shard.epoch = result.epoch as is_current from unnest(${resultArrays(results)}) with ordinality
        as result (${RESULT_COLUMNS}, position)
      join shard on shard.id = shard_of(result.endpoint_id)
    ), ended as (
      delete from due using result
      where due.shard = shard_of(result.endpoint_id) and due.endpoint_id = result.endpoint_id
        and due.due_at = result.due_at and due.delivery_id = result.delivery_id
        and (result.succeeded or (result.is_current and result.next_attempt_at is null))
      returning result.position
    ), overtaken as (
      delete from due
      using (
        select endpoint_id, delivery_id, delivery.next_attempt_at
        from result
        cross join lateral (
          select next_attempt_at from delivery
          where id = result.delivery_id and id between ${first}::uuid and ${last}::uuid
          offset 0
        ) as delivery
        where succeeded and not is_current
      ) as late
      where due.shard = shard_of(late.endpoint_id) and due.endpoint_id = late.endpoint_id
        and due.due_at = late.next_attempt_at and due.delivery_id = late.delivery_id
    ), postponed as (
      update due
      set due_at = result.next_attempt_at, attempts = due.attempts + 1
      from result
      where due.shard = shard_of(result.endpoint_id) and due.endpoint_id = result.endpoint_id
        and due.due_at = result.due_at and due.delivery_id = result.delivery_id
        and not result.succeeded and result.is_current and result.next_attempt_at is not null
      returning result.position
    ), counted as materialized (
      select * from result
      where succeeded
        or position in (select position from ended)
        or position in (select position from postponed)
    ), preceding as (
      insert into delivery_attempt
        (delivery_id, number, started_at, ${ANSWER_COLUMNS})
      select id, attempt_count, attempted_at, ${ANSWER_COLUMNS}
      from delivery
      -- By the parameter, and not row by row for what was counted: PostgreSQL 18.4 passed over the partition of one row in some hundred
      -- then (its Append pruned it while it ran), and that attempt was gone from the history.
      where id = any (${ids}::uuid[])
        and id between ${first}::uuid and ${last}::uuid
        and attempt_count > 0 and state = 'pending'
        and array[id] <@ (select array_agg(delivery_id) from counted)
      on conflict (delivery_id, number) do nothing
    ), settled as (
      update delivery
      set state = case
            when counted.succeeded then 'succeeded'::delivery_state
            when counted.next_attempt_at is null then 'exhausted'
            else 'pending'
          end,
          attempt_count = delivery.attempt_count + 1,
          attempted_at = counted.started_at,
          duration_ms = counted.duration_ms,
          status_code = counted.status_code,
          error_summary = counted.error_summary,
          failure_kind = counted.failure_kind,
          response_excerpt = counted.response_excerpt,
          traceparent = counted.traceparent,
          next_attempt_at = counted.next_attempt_at
      from counted
      where delivery.id = counted.delivery_id
        and delivery.id between ${first}::uuid and ${last}::uuid
        and delivery.state = 'pending'
      returning delivery.endpoint_id, delivery.state, counted.started_at
    )${results.some(isLast) ? TELL_EXHAUSTED : Prisma.empty}
    select position::int as "position" from counted
    union all
    -- Written before, by a statement whose answer was lost.
    select result.position::int
    from result
    cross join lateral (
      select attempted_at from delivery
      where id = result.delivery_id and id between ${first}::uuid and ${last}::uuid
      offset 0
    ) as delivery
    where not result.succeeded
      and result.position not in (select position from counted)
      and delivery.attempted_at = result.started_at`;
  const written = new Set(rows.map(({ position }) => results[position - 1]));
  return settlements.filter((each) => !written.has(each));
}

/** What a delivery's row keeps of its latest attempt, and `delivery_attempt` of the ones before, under the same names. */
export const ANSWER_COLUMNS = Prisma.sql`duration_ms, status_code, error_summary, failure_kind, response_excerpt, traceparent`;

/** The columns of {@link resultArrays}. */
export const RESULT_COLUMNS = Prisma.sql`delivery_id, endpoint_id, due_at, epoch, started_at, succeeded, next_attempt_at, ${ANSWER_COLUMNS}`;

/** Results as PostgreSQL unnests them. */
export function resultArrays(results: readonly Settlement[]): Prisma.Sql {
  const column = <T>(read: (settlement: Settlement) => T) => results.map(read);
  return Prisma.sql`
        ${column((each) => each.deliveryId)}::uuid[],
        ${column((each) => each.endpointId)}::uuid[],
        ${column((each) => each.dueAt)}::timestamptz[],
        ${column((each) => each.epoch)}::bigint[],
        ${column((each) => each.startedAt)}::timestamptz[],
        ${column((each) => each.succeeded)}::boolean[],
        ${column((each) => each.nextAttemptAt)}::timestamptz[],
        ${column((each) => each.durationMs)}::int[],
        ${column((each) => each.statusCode)}::int[],
        ${column((each) => each.errorSummary)}::text[],
        ${column((each) => each.failureKind)}::text[],
        ${column((each) => each.responseExcerpt)}::text[],
        ${column((each) => each.traceparent)}::text[]`;
}

/** What was given up is told with it (the rows of `settled`), so that no crash comes between them. Most settlements give up nothing, and have no need of this. */
export const TELL_EXHAUSTED = Prisma.sql`, given_up as (
      insert into exhaustion
        (endpoint_id, state, organization_id, endpoint_name, endpoint_url, deliveries, first_at, last_at)
      select endpoint.id, 'exhausted', endpoint.organization_id, endpoint.name, endpoint.url, count(*), min(started_at), max(started_at)
      from settled join webhook_endpoint as endpoint on endpoint.id = settled.endpoint_id
      where settled.state = 'exhausted'
      group by endpoint.id
    )`;

export function isLast({ succeeded, nextAttemptAt }: Settlement): boolean {
  return !succeeded && nextAttemptAt === null;
}

/** Of several results of one delivery a success wins, and one success is enough. In the order of ids, so that two dispatchers seldom wait for each other. */
function onePerDelivery(settlements: readonly Settlement[]): Settlement[] {
  const successes = new Map<string, Settlement>();
  for (const each of settlements) if (each.succeeded) successes.set(each.deliveryId, each);
  return settlements
    .filter((each) => (successes.get(each.deliveryId) ?? each) === each)
    .sort((one, other) => (one.deliveryId < other.deliveryId ? -1 : 1));
}
