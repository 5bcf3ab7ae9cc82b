import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { BenchHerald } from "../environment.ts";
import { UNTIMED_BODY_REST } from "../row.ts";

export interface Unfinished {
  endpointIds: readonly string[];
  /** Of each of the endpoints. */
  deliveries: number;
  /** "new": never attempted; "failed": attempted once, a minute ago. Those of a disabled endpoint wait until it is resumed. */
  kind: "new" | "failed";
}

/** Stores unfinished deliveries, each with an event of its own; all are due now. */
export async function storeUnfinished(
  herald: BenchHerald,
  { endpointIds, deliveries, kind }: Unfinished,
): Promise<void> {
  await inDatabase(herald, (client) =>
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
      insert into due (delivery_id, endpoint_id, due_at, attempts) select id, endpoint_id, created_at, attempt_count from stored`,
      [endpointIds, deliveries, UNTIMED_BODY_REST, kind],
    ),
  );
}

/** Forgets all events and deliveries; what is in flight ends without a trace. */
export async function forgetDeliveries(herald: BenchHerald): Promise<void> {
  await inDatabase(herald, (client) => client.query("truncate due, delivery, delivery_attempt, business_event"));
}

const ENDING_MS = 120_000;

/** Resolves when every delivery has come to its end. @throws where that takes longer than two minutes */
export async function untilNothingIsDue(herald: BenchHerald): Promise<void> {
  await inDatabase(herald, async (client) => {
    const deadline = Date.now() + ENDING_MS;
    while ((await client.query("select from delivery where state = 'pending' limit 1")).rowCount !== 0) {
      if (Date.now() > deadline) throw new Error("Deliveries are still due after two minutes.");
      await sleep(200);
    }
  });
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

export interface StoredHistory {
  organizationId: string;
  /** Of the organization; the first of them is subscribed to RiskCreated too. */
  endpoints: number;
  /** Of other organizations, a hundred each. */
  otherEndpoints: number;
  deliveries: number;
  /** The days until now over which the deliveries are spread. */
  days: number;
  progress: (text: string) => void;
}

/** One statement's rows: small enough to show progress. */
const STEP = 200_000;
const DAY_MS = 24 * 60 * 60_000;

/** "2026-11-21" of a time in UTC. */
export const dayOf = (time: Date) => time.toISOString().slice(0, 10);

/**
 * Stores finished deliveries of one organization, each with its event, spread over its endpoints and the last days as they
 * would have come. One in twenty had an attempt that failed.
 */
export function storeFinished(herald: BenchHerald, history: StoredHistory): Promise<void> {
  return inDatabase(herald, async (client) => {
    const { organizationId, endpoints, otherEndpoints, deliveries, days, progress } = history;
    const now = new Date();
    for (let day = -days; day <= 1; day++) await makeDay(client, new Date(now.getTime() + day * DAY_MS));
    await client.query(STORE_ENDPOINTS, [organizationId, endpoints, endpoints + otherEndpoints, now]);
    await storeDeliveries(client, { organizationId, endpoints, deliveries, days, until: now, progress });
  });
}

/** Stores finished deliveries of an organization's only endpoint, spread over one day, as "2026-11-21". */
export function storeFinishedDay(
  herald: BenchHerald,
  { day, ...history }: { day: string } & Pick<StoredHistory, "organizationId" | "deliveries" | "progress">,
): Promise<void> {
  return inDatabase(herald, async (client) => {
    await makeDay(client, new Date(day));
    // The last one is still of this day.
    const until = new Date(new Date(day).getTime() + DAY_MS - 1);
    await storeDeliveries(client, { ...history, endpoints: 1, days: 1, until });
  });
}

async function storeDeliveries(
  client: pg.Client,
  history: Omit<StoredHistory, "otherEndpoints"> & { until: Date },
): Promise<void> {
  const { organizationId, endpoints, deliveries, days, until, progress } = history;
  await client.query("set synchronous_commit = off");
  for (let stored = 0; stored < deliveries; stored += STEP) {
    progress(`Storing finished deliveries: ${stored.toLocaleString("en")} of ${deliveries.toLocaleString("en")}`);
    const last = Math.min(stored + STEP, deliveries);
    await client.query(STORE_DELIVERIES, [organizationId, endpoints, days, deliveries, stored + 1, last, until]);
  }
  // So that PostgreSQL plans and reads as it would a day later.
  await client.query("vacuum analyze business_event, delivery, delivery_attempt, webhook_endpoint");
}

const STORE_ENDPOINTS = `
  insert into webhook_endpoint (id, organization_id, name, url, enabled, events, sealed_secret, created_at, updated_at)
  select
    gen_random_uuid(),
    case when number <= $2::int then $1::text else 'other-' || number / 100 end,
    'Endpoint ' || number, 'https://hooks.example.com/' || number, true,
    case when number = 1 then '{WorkItemCompleted,RiskCreated}' else '{WorkItemCompleted}' end::text[],
    'sealed', $4::timestamptz - interval '31 days', $4
  from generate_series(1, $3::int) as number`;

const STORE_DELIVERIES = `
  with endpoint as (
    select array_agg(id order by id) as ids from webhook_endpoint where organization_id = $1
  ), made as materialized (
    select number, id, at, event_key($1::text, id, at) as key, ids[1 + number % $2::int] as endpoint_id
    from endpoint, (
      select number, gen_random_uuid() as id, date_trunc('milliseconds',
        $7::timestamptz - $3::int * interval '1 day' * (1 - number::float8 / $4::float8)) as at
      from generate_series($5::int, $6::int) as number
    ) as event
  ), event as (
    insert into business_event (organization_id, key, id, type, entity_id, occurred_at, received_at, body)
    select $1, key, id, 'WorkItemCompleted', id, at, at, repeat('x', 300) from made
  ), earlier as (
    insert into delivery_attempt (delivery_id, number, started_at, duration_ms, status_code, error_summary, failure_kind)
    select delivery_id(key, endpoint_id), 1, at, 12, 503, 'receiver answered 503', 'http_status'
    from made where number % 20 = 0
  )
  insert into delivery (id, endpoint_id, organization_id, event_key, event_type, state, attempt_count, attempted_at,
                        duration_ms, status_code, created_at)
  select delivery_id(key, endpoint_id), endpoint_id, $1, key, 'WorkItemCompleted', 'succeeded',
    case when number % 20 = 0 then 2 else 1 end, at, 12, 200, at
  from made`;

/** A day's partition of each table of the history, as the publisher makes them. */
async function makeDay(client: pg.Client, day: Date): Promise<void> {
  const { rows } = await client.query("select pronargs from pg_proc where proname = 'make_partitions'");
  // Of an earlier commit the function knows single days only.
  const isOfOneDay = rows[0]?.pronargs === 1;
  if (isOfOneDay) await client.query("select make_partitions($1)", [dayOf(day)]);
  else await client.query("select make_partitions($1, $2)", [dayOf(day), dayOf(new Date(day.getTime() + DAY_MS))]);
}
