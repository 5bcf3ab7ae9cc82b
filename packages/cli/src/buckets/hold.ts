import { setTimeout as sleep } from "node:timers/promises";
import type { Queries, Reads } from "@herald/common/database/queries";
import { inBucket, MOVING } from "./bucket-rows.ts";

/** How often a hold looks whether everything has come to rest. */
const LOOK_EVERY_MS = 500;

/**
 * Holds the endpoints of a bucket, so that nothing of their organizations changes any more, and returns when that is so: no attempt
 * begins, no delivery is made, and what was under way has ended. A claim whose dispatcher died is waited for until its lease ends.
 *
 * @param onWait is told what is waited for
 */
export async function hold(queries: Queries, bucket: string, onWait: (text: string) => void): Promise<void> {
  await holdEndpoints(queries, bucket);
  for (let writers = await writersOf(queries); writers.length > 0; ) {
    onWait(`waits until ${writers.length} transactions of the giving cell have ended`);
    await sleep(LOOK_EVERY_MS);
    const still = await writersOf(queries);
    writers = writers.filter((each) => still.includes(each));
  }
  for (;;) {
    const underWay = await countUnderWay(queries, bucket);
    if (underWay === 0) return;
    onWait(`waits until ${underWay} attempts have ended`);
    await sleep(LOOK_EVERY_MS);
  }
}

/**
 * Disables the endpoints without a reason, and takes their catch-ups and resends off the schedule. It is no change of theirs: neither
 * revision nor trail shows it.
 *
 * Locks those endpoints, in the order of their ids, and these rows of `catch_up` and `resend`. Reads all endpoints and resends.
 */
async function holdEndpoints(queries: Queries, bucket: string): Promise<void> {
  await queries.$executeRaw`
    with locked as materialized (
      select id from webhook_endpoint
      where ${inBucket("organization_id", bucket)}
      order by id
      for no key update
    ), held as (
      update webhook_endpoint set enabled = false, paused_until = ${MOVING}::timestamptz
      where id in (select id from locked)
    ), rested as (
      update catch_up set due_at = 'infinity' where endpoint_id in (select id from locked)
    )
    update resend set due_at = 'infinity' where due_at is not null and endpoint_id in (select id from locked)`;
}

/**
 * The transactions that write to the tables which a move reads. A statement locks its tables before it looks at their rows: one that
 * begins after the hold sees the hold, and one that began before is found here.
 */
async function writersOf(reads: Reads): Promise<string[]> {
  const rows = await reads.$queryRaw<{ writer: string }[]>`
    select distinct virtualtransaction as "writer" from pg_locks
    where locktype = 'relation'
      and database = (select oid from pg_database where datname = current_database())
      and relation in (
        'webhook_endpoint'::regclass, 'business_event'::regclass, 'delivery'::regclass, 'due'::regclass, 'resend'::regclass
      )
      and mode = 'RowExclusiveLock'
      and granted
      and pid <> pg_backend_pid()`;
  return rows.map(({ writer }) => writer);
}

/** The deliveries that a dispatcher may be at: claimed, or leased to a hint. Walks due_endpoint_id_due_at_idx for each endpoint. */
async function countUnderWay(reads: Reads, bucket: string): Promise<number> {
  const [row] = await reads.$queryRaw<{ count: number }[]>`
    select count(*)::int as "count"
    from webhook_endpoint as endpoint
    join due on due.endpoint_id = endpoint.id and due.due_at > clock_timestamp() and due.claim_id is not null
    where ${inBucket("endpoint.organization_id", bucket)}`;
  return row?.count ?? 0;
}

/** How the endpoints of a bucket that were held begin to work. */
export interface Beginning {
  now: Date;
  /** When the publisher catches them up for the second time. */
  catchUpAgainAt: Date;
}

/**
 * Ends the hold of a bucket, in one statement: its endpoints are as they were before, and are caught up, running resends go on. A
 * failing endpoint is attempted at once. The time of change of those that work is this one, since the due scan looks for old rows of endpoints that changed.
 * Returns how many endpoints were held.
 *
 * Locks those endpoints, and these rows of `catch_up` and `resend`. Reads all endpoints.
 */
export async function release(queries: Queries, bucket: string, { now, catchUpAgainAt }: Beginning): Promise<number> {
  const [row] = await queries.$queryRaw<{ count: number }[]>`
    with locked as materialized (
      select id from webhook_endpoint
      where ${inBucket("organization_id", bucket)} and paused_until = ${MOVING}::timestamptz
      order by id
      for no key update
    ), released as (
      update webhook_endpoint
      set enabled = disabled_reason is null,
          paused_until = null,
          updated_at = case when disabled_reason is null then ${now}::timestamptz else updated_at end
      where id in (select id from locked)
      returning id, enabled
    ), told as (
      insert into catch_up (endpoint_id, priority, due_at, again_at)
      select id, 0, ${now}::timestamptz, ${catchUpAgainAt}::timestamptz from released where enabled
      on conflict (endpoint_id) do update
      set priority = 0, due_at = excluded.due_at, cursor = null, again_at = excluded.again_at, complete_to = null
    ), resumed as (
      update resend set due_at = ${now}::timestamptz
      where state = 'running' and endpoint_id in (select id from released)
    )
    select count(*)::int as "count" from released`;
  return row?.count ?? 0;
}
