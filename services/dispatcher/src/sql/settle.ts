import { byDay, type OfDay } from "@herald/common/database/days";
import { Prisma } from "@herald/common/database/generated/client";
import { nullable, type Queries } from "@herald/common/database/queries";
import type { AttemptResult } from "./rows.ts";

/** An attempt that has ended. */
export interface Settlement extends Omit<AttemptResult, "reached"> {
  deliveryId: string;
  endpointId: string;
  /** The epoch in which this dispatcher owned the endpoint's shard when the attempt began. */
  epoch: number;
  /** Its number among the attempts of its delivery, from 1 on. */
  attempt: number;
  revision: bigint;
  /** The trace context that was sent, if it was not the event's. */
  traceparent: string | null;
  /** When the delivery is due again if it failed; null when this was its last attempt. */
  nextAttemptAt: Date | null;
  /** Whether an admin waits for it. Such an attempt does not wait for the endpoint's pause, so its failure counts also during one. */
  manual: boolean;
  /** Whether a message brought its delivery; else its row was read. */
  handedOver?: boolean | undefined;
  /** Its delivery, if that may not be stored yet. */
  unstored?: ArrivedDelivery | undefined;
}

/** A delivery as the statement that stores its event makes it too. */
export type ArrivedDelivery = { createdAt: Date; organizationId: string; eventKey: string; eventType: string };

export interface Settled {
  /** Another transaction holds their rows, or has just changed them: they are not written, and the caller tries again. */
  taken: Set<Settlement>;
  /** They changed nothing: the shard has had another owner, the delivery had succeeded, or was gone. */
  late: Set<Settlement>;
  /** Results of this epoch whose delivery has no row, though its endpoint has one. */
  missing: Set<Settlement>;
}

/**
 * Writes how attempts ended, and the consequences for their deliveries. Endpoints are only read: their health is written later (endpoint-health.ts).
 *
 * - An attempt is known by its number: a failure counts only as the one that follows the delivery's last, and only in the epoch in which it began.
 *   Then the delivery waits for its next attempt, or is exhausted, with a notice (notices.ts). Its time is no fence: it differs if two publishers
 *   get the same event.
 * - A success ends its delivery whatever else happened to it, also a failure in the same call. Only a delivery that was given up, with its
 *   notice, stays so (SPEC 3.2). The success still counts for the endpoint's health.
 * - The row of `due` is found by the delivery's own time, whichever dispatcher owns the shard by now.
 * - The latest attempt is in the delivery's row; the one before it moves to delivery_attempt.
 * - Deliveries that were erased meanwhile are skipped. A failure in an earlier epoch may come before the publisher has stored its delivery.
 * - The same settlements, written again, change nothing: a caller that got no answer cannot know whether they were written.
 *
 * Locks these rows of `delivery` and `due`, both or none, and waits for none that another transaction has locked. It writes the very version of a
 * delivery that it locked (`ctid`), so it does not wait for a row either that was changed since it began. Walks delivery_pkey, due_pkey,
 * delivery_attempt_pkey, shard_pkey, webhook_endpoint_pkey. One statement for each day of deliveries (days.ts).
 */
export async function settle(queries: Queries, settlements: readonly Settlement[]): Promise<Settled> {
  const settled = { taken: new Set<Settlement>(), late: new Set<Settlement>(), missing: new Set<Settlement>() };
  for (const ofDay of byDay(settlements, ({ deliveryId }) => deliveryId)) await settleDay(queries, ofDay, settled);
  return settled;
}

async function settleDay(
  queries: Queries,
  { items: settlements, isOn }: OfDay<Settlement>,
  { taken, late, missing }: Settled,
): Promise<void> {
  const results = onePerDelivery(settlements);
  const ids = results.map(({ deliveryId }) => deliveryId);
  // The ids are one parameter. This is no join with the rows of a CTE: in such a join, PostgreSQL 18.4 wrongly pruned the partition of about one row
  // in a hundred while the plan ran. Then that attempt was missing in the history.
  const amongThese = Prisma.sql`id = any (${ids}::uuid[]) and ${isOn("id")}`;
  const rows = await queries.$queryRaw<
    { position: number; isTaken: boolean; isWritten: boolean; isMissing: boolean }[]
  >`
    with result as materialized (
      select result.*, shard.epoch = result.epoch as is_current from unnest(${resultArrays(results)}) with ordinality
        as result (${RESULT_COLUMNS}, position)
      join shard on shard.id = shard_of(result.endpoint_id)
    ), free as materialized (
      select id, ctid, endpoint_id, state, attempt_count, attempted_at, coalesce(next_attempt_at, created_at) as due_at, ${ANSWER_COLUMNS}
      from delivery
      where ${amongThese}
      for no key update skip locked
    ), free_due as materialized (
      select due.delivery_id from free join due on ${IS_DUE_ROW_OF("free")}
      for update of due skip locked
    ), before as materialized (
      select * from free
      where id in (select delivery_id from free_due) or not exists (select from due where ${IS_DUE_ROW_OF("free")})
    ), settled as (
      update delivery
      set state = case
            when result.succeeded then 'succeeded'::delivery_state
            when result.next_attempt_at is null then 'exhausted'
            else 'pending'
          end,
          attempt_count = delivery.attempt_count + 1,
          attempted_at = result.started_at,
          duration_ms = result.duration_ms,
          status_code = result.status_code,
          error_summary = result.error_summary,
          failure_kind = result.failure_kind,
          response_excerpt = result.response_excerpt,
          traceparent = result.traceparent,
          next_attempt_at = result.next_attempt_at
      from result join before on before.id = result.delivery_id
      where delivery.id = result.delivery_id and ${isOn("delivery.id")}
        and delivery.ctid = before.ctid
        and ${COUNTS}
      returning delivery.id, delivery.endpoint_id, delivery.state, delivery.next_attempt_at, before.due_at, result.started_at, result.position
    ), preceding as (
      insert into delivery_attempt (delivery_id, number, started_at, ${ANSWER_COLUMNS})
      select id, attempt_count, attempted_at, ${ANSWER_COLUMNS}
      from before
      where attempt_count > 0 and id in (select id from settled)
      on conflict (delivery_id, number) do nothing
    ), ended as (
      delete from due using settled where ${IS_DUE_ROW_OF("settled")} and settled.state <> 'pending'
    ), postponed as (
      update due
      set due_at = settled.next_attempt_at, attempts = due.attempts + 1
      from settled
      where ${IS_DUE_ROW_OF("settled")} and settled.state = 'pending'
    )${results.some(isLast) ? TELL_EXHAUSTED : Prisma.empty}
    select result.position::int as "position",
      case
        when before.id is null then result.delivery_id in (select id from delivery where ${amongThese})
        else settled.position is null and ${COUNTS}
      end as "isTaken",
      result.succeeded or settled.position is not null
        -- Written before, by a statement whose answer was lost.
        or before.attempted_at is not distinct from result.started_at as "isWritten",
      case when before.id is null and (result.succeeded or result.is_current)
        then exists (select from webhook_endpoint where id = result.endpoint_id)
      end as "isMissing"
    from result
    left join before on before.id = result.delivery_id
    left join settled on settled.position = result.position`;
  const dealtWith = new Set<Settlement>();
  for (const { position, isTaken, isWritten, isMissing } of rows) {
    const result = results[position - 1] as Settlement;
    if (isTaken) taken.add(result);
    else if (isMissing) missing.add(result);
    if (isTaken || isWritten) dealtWith.add(result);
  }
  for (const each of settlements) if (!dealtWith.has(each)) late.add(each);
}

/** Whether a result may change its delivery. */
const COUNTS = Prisma.sql`before.state = 'pending'
  and (result.succeeded or (result.is_current and result.attempt = before.attempt_count + 1))`;

/** Finds the row of `due` that belongs to a delivery among these rows, by its key. */
const IS_DUE_ROW_OF = (rows: "free" | "settled") => {
  const column = (name: string) => Prisma.raw(`${rows}.${name}`);
  return Prisma.sql`due.shard = shard_of(${column("endpoint_id")}) and due.endpoint_id = ${column("endpoint_id")}
    and due.due_at = ${column("due_at")} and due.delivery_id = ${column("id")}`;
};

/** The columns of an attempt that a delivery's row has for its latest one, and `delivery_attempt` for the ones before, under the same names. */
export const ANSWER_COLUMNS = Prisma.sql`duration_ms, status_code, error_summary, failure_kind, response_excerpt, traceparent`;

/** The columns of {@link resultArrays}. */
export const RESULT_COLUMNS = Prisma.sql`delivery_id, endpoint_id, epoch, attempt, started_at, succeeded, next_attempt_at, ${ANSWER_COLUMNS}`;

export function resultArrays(results: readonly Settlement[]): Prisma.Sql {
  const column = <T>(read: (settlement: Settlement) => T) => results.map(read);
  return Prisma.sql`
        ${column((each) => each.deliveryId)}::uuid[],
        ${column((each) => each.endpointId)}::uuid[],
        ${column((each) => each.epoch)}::bigint[],
        ${column((each) => each.attempt)}::int[],
        ${column((each) => each.startedAt)}::timestamptz[],
        ${column((each) => each.succeeded)}::boolean[],
        ${nullable(results, (each) => each.nextAttemptAt, "timestamptz", "infinity")},
        ${column((each) => each.durationMs)}::int[],
        ${nullable(results, (each) => each.statusCode, "int", "0")},
        ${nullable(results, (each) => each.errorSummary)},
        ${nullable(results, (each) => each.failureKind)},
        ${nullable(results, (each) => each.responseExcerpt)},
        ${nullable(results, (each) => each.traceparent)}`;
}

/** Rows for the notice of what was given up (the rows of `settled`), in the same statement. Most settlements give up nothing, and do not need it. */
export const TELL_EXHAUSTED = Prisma.sql`, given_up as (
      insert into exhaustion (endpoint_id, state, organization_id, endpoint_name, endpoint_url, deliveries, first_at, last_at)
      select endpoint.id, 'exhausted', endpoint.organization_id, endpoint.name, endpoint.url, count(*), min(started_at), max(started_at)
      from settled join webhook_endpoint as endpoint on endpoint.id = settled.endpoint_id
      where settled.state = 'exhausted'
      group by endpoint.id
    )`;

export function isLast({ succeeded, nextAttemptAt }: Settlement): boolean {
  return !succeeded && nextAttemptAt === null;
}

/** If a delivery has several results, one success is enough. In the order of ids, so that two dispatchers seldom wait for each other. */
function onePerDelivery(settlements: readonly Settlement[]): Settlement[] {
  const successes = new Map<string, Settlement>();
  for (const each of settlements) if (each.succeeded) successes.set(each.deliveryId, each);
  return settlements
    .filter((each) => (successes.get(each.deliveryId) ?? each) === each)
    .sort((one, other) => (one.deliveryId < other.deliveryId ? -1 : 1));
}
