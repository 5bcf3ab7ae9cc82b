import type { Queries, Reads } from "@herald/common/database/queries";
import { type Databases, inBucket, isReleased, MOVED, MOVING, organizationsOf, readMove } from "./bucket-rows.ts";
import { type Beginning, release } from "./hold.ts";

export interface ForgetOptions {
  pageSize: number;
  now: Date;
  onProgress: (text: string) => void;
}

/**
 * Erases what the giving database has of a bucket that was moved: events and idempotency keys here, and the endpoints last, whose
 * history its publishers erase as that of deleted ones. It may be cut off and run again.
 *
 * @returns how many endpoints, and how many events
 * @throws where the move is not over
 */
export async function forgetBucket(
  { from, to }: Databases<Queries>,
  bucket: string,
  { pageSize, now, onProgress }: ForgetOptions,
): Promise<{ endpoints: number; events: number }> {
  const { giving } = await readMove({ from, to }, bucket);
  if (giving.moved < giving.endpoints) {
    throw new Error(
      `${giving.endpoints - giving.moved} of ${giving.endpoints} endpoints of bucket ${bucket} have not been moved. Run "herald buckets move ${bucket}" first.`,
    );
  }
  const organizations = await organizationsOf(from, bucket);
  for (const organizationId of organizations) await assertNewestEventMoved({ from, to }, organizationId);
  let events = 0;
  for (const [index, organizationId] of organizations.entries()) {
    await from.$executeRaw`delete from idempotency_key where organization_id = ${organizationId}`;
    await from.$executeRaw`delete from endpoint_change where organization_id = ${organizationId}`;
    for (;;) {
      const erased = await eraseEvents(from, organizationId, pageSize);
      events += erased;
      onProgress(`organization ${index + 1} of ${organizations.length}: ${events} events erased`);
      if (erased < pageSize) break;
    }
  }
  return { endpoints: await eraseEndpoints(from, bucket, { state: MOVED, now }), events };
}

/**
 * Ends a move that is not over, and leaves the bucket to the giving cell: erases the endpoints that the taking database has of it, and
 * lets those of the giving one work again. Events that were copied stay until they are too old: nothing is made of them.
 *
 * @returns how many endpoints work again
 * @throws where the taking database serves the bucket already
 */
export async function cancelMove(
  { from, to }: Databases<Queries>,
  bucket: string,
  beginning: Beginning,
): Promise<number> {
  if (isReleased(await readMove({ from, to }, bucket))) {
    throw new Error(
      `The taking cell has the endpoints of bucket ${bucket} already. To bring the bucket back: "herald buckets move ${bucket}" to finish, ` +
        `"herald buckets forget ${bucket}", and then a move the other way.`,
    );
  }
  await eraseEndpoints(to, bucket, { state: MOVING, now: beginning.now });
  return await release(from, bucket, beginning);
}

/** An event is copied in the order of keys, so who has the newest one of an organization has them all. */
async function assertNewestEventMoved({ from, to }: Databases, organizationId: string): Promise<void> {
  const key = await newestEvent(from, organizationId);
  if (key === undefined) return;
  const [row] = await to.$queryRaw<unknown[]>`
    select 1 from business_event where organization_id = ${organizationId} and key = ${key}::uuid`;
  if (row !== undefined) return;
  throw new Error(
    `The other database does not have the newest event of ${organizationId}. Run the move again: it copies what is missing.`,
  );
}

/** Locks nothing. Walks business_event_pkey. */
async function newestEvent(reads: Reads, organizationId: string): Promise<string | undefined> {
  const [row] = await reads.$queryRaw<{ key: string }[]>`
    select key from business_event where organization_id = ${organizationId} order by key desc limit 1`;
  return row?.key;
}

/** Locks what it erases. Walks business_event_pkey. */
async function eraseEvents(queries: Queries, organizationId: string, pageSize: number): Promise<number> {
  return await queries.$executeRaw`
    delete from business_event
    where organization_id = ${organizationId}
      and key = any (array (
        select key from business_event where organization_id = ${organizationId} order by key limit ${pageSize}
      ))`;
}

/**
 * Erases the endpoints of a bucket that are in a state of a move, and tells the publisher to erase their history. Nobody is told: they
 * live on in the other database.
 *
 * Locks those endpoints, and their rows of `catch_up` and `digest`. Reads all endpoints.
 */
async function eraseEndpoints(
  queries: Queries,
  bucket: string,
  { state, now }: { state: Date; now: Date },
): Promise<number> {
  return await queries.$executeRaw`
    with erased as (
      delete from webhook_endpoint
      where ${inBucket("organization_id", bucket)} and paused_until = ${state}::timestamptz
      returning id
    ), ended as (
      delete from catch_up where endpoint_id in (select id from erased)
    ), forgotten as (
      delete from digest where endpoint_id in (select id from erased)
    )
    insert into erasure (endpoint_id, due_at, until)
    select id, ${now}::timestamptz, ${now}::timestamptz from erased
    on conflict (endpoint_id) do nothing`;
}
