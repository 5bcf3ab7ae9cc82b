import pg from "pg";
import type { BenchHerald } from "../environment.ts";
import { UNTIMED_BODY_REST } from "../sample-body.ts";

export interface Unfinished {
  endpointIds: readonly string[];
  /** Of each of the endpoints. */
  deliveries: number;
  /** "new": never attempted, its hint long lost; "failed": attempted once, a minute ago; "parked": never attempted, its endpoint disabled. */
  kind: "new" | "failed" | "parked";
}

/** Stores unfinished deliveries, each with an event of its own; all but the parked ones are due now. */
export async function storeUnfinished(
  herald: BenchHerald,
  { endpointIds, deliveries, kind }: Unfinished,
): Promise<void> {
  const attempts = kind === "failed" ? 1 : 0;
  await inDatabase(herald, (client) =>
    client.query(
      `with wanted as materialized (
        select id as endpoint_id, organization_id, gen_random_uuid() as event_id
        from webhook_endpoint, generate_series(1, $2::int)
        where id = any ($1::uuid[])
      ), event as (
        insert into business_event (organization_id, id, type, occurred_at, received_at, body)
        select organization_id, event_id, 'WorkItemCompleted', now(), now(), '{"id":"' || event_id || $3::text from wanted
      ), stored as (
        insert into delivery (endpoint_id, organization_id, business_event_id, event_type, state, attempt_count,
                              status_code, attempted_at, next_attempt_at, created_at)
        select endpoint_id, organization_id, event_id, 'WorkItemCompleted', $4::delivery_state, $5::int,
          case when $5::int > 0 then 503 end, case when $5::int > 0 then now() - interval '1 minute' end, now(), now()
        from wanted
        returning id, attempt_count
      )
      insert into delivery_attempt (delivery_id, number, started_at, duration_ms, status_code)
      select id, 1, now() - interval '1 minute', 12, 503 from stored where attempt_count > 0`,
      [endpointIds, deliveries, UNTIMED_BODY_REST, kind === "parked" ? "parked" : "pending", attempts],
    ),
  );
}

/** Forgets all events and deliveries; what is in flight ends without a trace. */
export async function forgetDeliveries(herald: BenchHerald): Promise<void> {
  await inDatabase(herald, (client) => client.query("truncate delivery, delivery_attempt, business_event"));
}

/** So that what was stored in bulk is not written to the disk while something else is measured. */
export async function checkpoint(herald: BenchHerald): Promise<void> {
  await inDatabase(herald, (client) => client.query("checkpoint"));
}

/** Runs a task on a connection of its own. */
export async function inDatabase<T>(herald: BenchHerald, task: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: herald.databaseUrl });
  await client.connect();
  try {
    return await task(client);
  } finally {
    await client.end();
  }
}
