import { ARRIVAL } from "@herald/common/broker/arrival";
import { isLockNotAvailable } from "@herald/common/database/errors";
import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import {
  ANSWER_COLUMNS,
  type ArrivedDelivery,
  isLast,
  RESULT_COLUMNS,
  resultArrays,
  type Settlement,
  TELL_EXHAUSTED,
} from "./settle.ts";

/** The settlement of a delivery that was handed over when its event arrived. */
export type ArrivedSettlement = Settlement & { unstored: ArrivedDelivery };

export function hasArrived(settlement: Settlement): settlement is ArrivedSettlement {
  return settlement.unstored !== undefined;
}

/**
 * Stores deliveries together with the results of their first attempts, if the publisher has not stored them yet. Its statement (store-events.ts)
 * leaves existing rows alone, so whichever comes first, the delivery is the same row; and it is due only if it has not ended.
 *
 * A failure counts only in the epoch in which its attempt began: else the publisher makes the delivery, and it is due. Nothing is stored for an
 * endpoint that was deleted.
 *
 * Locks: what it inserts. Only here an insert can wait for another transaction: for a publisher's statement with the same delivery, no longer than
 * a publisher may take before it hands nothing over. Walks delivery_pkey and due_pkey to insert, webhook_endpoint_pkey, shard_pkey.
 * @returns those that are `stored`, and those that are `taken`: all, if a publisher's statement takes too long. The caller tries these again. The
 *   others have to be settled like any (settle.ts), by a statement of its own, which sees the rows that this one has waited for
 */
export async function recordArrived(
  queries: Queries,
  settlements: readonly ArrivedSettlement[],
): Promise<Record<"stored" | "taken", ReadonlySet<Settlement>>> {
  if (settlements.length === 0) return { stored: new Set(), taken: new Set() };
  const statement = queries.$queryRaw<{ id: string }[]>`
    with patience as materialized (
      -- Holds for this statement, which is a transaction of its own.
      select set_config('lock_timeout', ${String(ARRIVAL.slowMs)}, true)
    ), settled as (
      insert into delivery (
        id, endpoint_id, organization_id, event_key, event_type, created_at, state, attempt_count, attempted_at, next_attempt_at,
        ${ANSWER_COLUMNS}
      )
      select result.delivery_id, endpoint.id, endpoint.organization_id, event_key, event_type, result.created_at,
        case
          when succeeded then 'succeeded'::delivery_state
          when next_attempt_at is null then 'exhausted'
          else 'pending'
        end,
        1, started_at, next_attempt_at, ${ANSWER_COLUMNS}
      from patience cross join unnest(${resultArrays(settlements)},
        ${settlements.map(({ unstored }) => unstored.createdAt)}::timestamptz[],
        ${settlements.map(({ unstored }) => unstored.organizationId)}::text[],
        ${settlements.map(({ unstored }) => unstored.eventKey)}::uuid[],
        ${settlements.map(({ unstored }) => unstored.eventType)}::text[]
      ) as result (${RESULT_COLUMNS}, created_at, organization_id, event_key, event_type)
      join webhook_endpoint as endpoint
        on endpoint.id = result.endpoint_id and endpoint.organization_id = result.organization_id
      join shard on shard.id = shard_of(result.endpoint_id)
      where succeeded or shard.epoch = result.epoch
      -- In the order in which publishers make deliveries, so that two statements wait for each other and do not deadlock.
      order by result.organization_id, result.event_key, result.endpoint_id
      on conflict (id) do nothing
      returning id, endpoint_id, state, attempted_at as started_at, next_attempt_at
    ), waiting as (
      insert into due (shard, endpoint_id, due_at, delivery_id, attempts)
      select shard_of(endpoint_id), endpoint_id, next_attempt_at, id, 1 from settled where state = 'pending'
      on conflict do nothing
    )${settlements.some(isLast) ? TELL_EXHAUSTED : Prisma.empty}
    select id from settled`;
  const rows = await statement.catch((error) => {
    if (!isLockNotAvailable(error)) throw error;
  });
  const ids = new Set(rows?.map(({ id }) => id));
  const stored = new Set(settlements.filter(({ deliveryId }) => ids.has(deliveryId)));
  return { stored, taken: new Set(rows ? [] : settlements) };
}
