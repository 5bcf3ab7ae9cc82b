import { Prisma } from "@herald/common/database/generated/client";
import { isOver, type Queries } from "@herald/common/database/queries";

export interface KeyToTake {
  organizationId: string;
  key: string;
  requestHash: Buffer;
  /** The id of what the request makes, if the key is new. */
  targetId: string;
  now: Date;
  /** Until this time no other process works on the request, unless the work ends before. */
  lockedUntil: Date;
  /** A key of that time or earlier is no longer known. */
  forgottenAt: Date;
}

export interface TakenKey {
  /** Whether this request does the work: the key is new, or the process that began with it has failed or died. */
  isTaken: boolean;
  /** Whether the key was there before, so that its work may have been done. */
  isKnown: boolean;
  isSameRequest: boolean;
  targetId: string;
  lockedUntil: Date;
  /** The answer as JSON; null before the work is done. */
  answer: string | null;
}

/**
 * Takes an idempotency key for a request, or reads what has become of it. Null if another request has stored it just now,
 * which this statement does not see.
 *
 * Locks the key's row for the statement; if two requests bring a new key at once, the second one waits for the first one's
 * insert. Walks idempotency_key_pkey.
 */
export async function takeIdempotencyKey(queries: Queries, take: KeyToTake): Promise<TakenKey | null> {
  const { organizationId, key, requestHash, targetId, now, lockedUntil, forgottenAt } = take;
  const [row] = await queries.$queryRaw<TakenKey[]>`
    with taken as (
      insert into idempotency_key as known (organization_id, key, request_hash, target_id, locked_until, created_at)
      values (
        ${organizationId}, ${key}, ${requestHash}::bytea, ${targetId}::uuid, ${lockedUntil}::timestamptz, ${now}::timestamptz
      )
      on conflict (organization_id, key) do update set
        request_hash = excluded.request_hash,
        target_id = case when known.created_at <= ${forgottenAt}::timestamptz then excluded.target_id else known.target_id end,
        created_at = case when known.created_at <= ${forgottenAt}::timestamptz then excluded.created_at else known.created_at end,
        locked_until = excluded.locked_until,
        answer = null
      where known.created_at <= ${forgottenAt}::timestamptz
        or (
          known.answer is null and ${isOver(Prisma.sql`known.locked_until`, now)} and known.request_hash = excluded.request_hash
        )
      returning target_id, locked_until
    )
    select true as "isTaken", target_id <> ${targetId}::uuid as "isKnown", true as "isSameRequest",
      target_id as "targetId", locked_until as "lockedUntil", null as "answer"
    from taken
    union all
    select false, true, request_hash = ${requestHash}::bytea, target_id, locked_until, answer
    from idempotency_key
    where organization_id = ${organizationId} and key = ${key} and not exists (select from taken)`;
  return row ?? null;
}

export interface KeyToEnd {
  organizationId: string;
  key: string;
  /** The target of the work that ended; a key that was taken again since then has another one. */
  targetId: string;
  now: Date;
  /** The answer as JSON; null if the work failed, so that the same request may try again at once. */
  answer: string | null;
}

/** Ends the work on an idempotency key's request. Locks the key's row. Walks idempotency_key_pkey. */
export async function endIdempotencyKey(
  queries: Queries,
  { organizationId, key, targetId, now, answer }: KeyToEnd,
): Promise<void> {
  await queries.$executeRaw`
    update idempotency_key set answer = ${answer}, locked_until = ${now}::timestamptz
    where organization_id = ${organizationId} and key = ${key} and target_id = ${targetId}::uuid and answer is null`;
}

/**
 * Erases a page of the idempotency keys of that time or earlier. Returns how many there were.
 *
 * Locks what it erases, and skips what others lock. Walks idempotency_key_created_at_idx, and idempotency_key_pkey for each.
 */
export async function eraseIdempotencyKeys(
  queries: Queries,
  { forgottenAt, pageSize }: { forgottenAt: Date; pageSize: number },
): Promise<number> {
  return await queries.$executeRaw`
    delete from idempotency_key
    where (organization_id, key) in (
      select organization_id, key from idempotency_key
      where created_at <= ${forgottenAt}::timestamptz
      order by created_at
      limit ${pageSize}
      for update skip locked
    )`;
}
