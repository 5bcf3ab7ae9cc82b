import type { Queries } from "@herald/common/database/queries";

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
