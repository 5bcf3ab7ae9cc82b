import { setTimeout as sleep } from "node:timers/promises";
import { withClient } from "@herald/dev/stack/postgres";
import type { BenchHerald } from "../environment.ts";
import { UNTIMED_BODY_REST } from "../row.ts";

/**
 * Stores so many unfinished deliveries of each endpoint, each with an event of its own; all are due now. New ones were never attempted; failed ones were
 * attempted once, a minute ago.
 */
export async function storeUnfinished(
  herald: BenchHerald,
  { endpointIds, deliveries, kind }: { endpointIds: readonly string[]; deliveries: number; kind: "new" | "failed" },
): Promise<void> {
  await withClient(herald.databaseUrl, (client) =>
    client.query(
      `with made as materialized (
        select endpoint_id, organization_id, event_id, at, event_key(organization_id, event_id, at) as key
        from (
          select id as endpoint_id, organization_id, gen_random_uuid() as event_id, date_trunc('milliseconds', now()) as at
          from webhook_endpoint, generate_series(1, $2::int)
          where id = any ($1::uuid[])
        ) as wanted
      ), event as (
        insert into business_event (organization_id, key, id, type, entity_id, occurred_at, received_at, body)
        select organization_id, key, event_id, 'WorkItemCompleted', event_id, at, at, '{"id":"' || event_id || $3::text
        from made
      ), stored as (
        insert into delivery (id, endpoint_id, organization_id, event_key, event_type, attempt_count, attempted_at, duration_ms,
                              status_code, error_summary, failure_kind, next_attempt_at, created_at)
        select delivery_id(key, endpoint_id), endpoint_id, organization_id, key, 'WorkItemCompleted', attempts,
          attempted_at, duration_ms, status_code, error_summary, failure_kind, case when attempts > 0 then at end, at
        from made, (
          select 0, null::timestamptz, null::int, null::int, null, null where $4 = 'new'
          union all
          select 1, now() - interval '1 minute', 12, 503, 'receiver answered 503', 'http_status' where $4 = 'failed'
        ) as latest (attempts, attempted_at, duration_ms, status_code, error_summary, failure_kind)
        returning id, endpoint_id, created_at, attempt_count
      )
      insert into due (shard, delivery_id, endpoint_id, due_at, attempts) select shard_of(endpoint_id), id, endpoint_id, created_at, attempt_count from stored`,
      [endpointIds, deliveries, UNTIMED_BODY_REST, kind],
    ),
  );
}

/** Forgets all events and deliveries; what is in flight ends without a trace. */
export const forgetDeliveries = (herald: BenchHerald) =>
  withClient(herald.databaseUrl, (client) => client.query("truncate due, delivery, delivery_attempt, business_event"));

const ENDING_MS = 120_000;

/** Resolves when every delivery has come to its end. @throws where that takes longer than two minutes */
export async function untilNothingIsDue(herald: BenchHerald): Promise<void> {
  await withClient(herald.databaseUrl, async (client) => {
    const deadline = Date.now() + ENDING_MS;
    while ((await client.query("select from delivery where state = 'pending' limit 1")).rowCount !== 0) {
      if (Date.now() > deadline) throw new Error("Deliveries are still due after two minutes.");
      await sleep(200);
    }
  });
}

/** So that what was stored in bulk is not written to the disk while something else is measured. */
export const checkpoint = (herald: BenchHerald) =>
  withClient(herald.databaseUrl, (client) => client.query("checkpoint"));
