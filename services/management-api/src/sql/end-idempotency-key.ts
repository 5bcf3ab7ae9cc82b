import type { Queries } from "@herald/common/database/queries";

export interface KeyToEnd {
  organizationId: string;
  key: string;
  /** Of the work that ended; a key that was taken anew since has another. */
  targetId: string;
  now: Date;
  /** As JSON; null where the work failed, so that the same request may try again at once. */
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
