import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import { eraseIdempotencyKeys } from "../sql/erase-idempotency-keys.ts";
import { KEPT_MS } from "./answer-once.ts";

const PAGE_SIZE = 1_000;

/** Erases the idempotency keys that are no longer known, page by page. Several processes may do this at once. */
export async function forgetKeys(
  { queries, clock }: { queries: Queries; clock: Clock },
  signal: AbortSignal,
): Promise<number> {
  const forgottenAt = new Date(clock.now().getTime() - KEPT_MS);
  let total = 0;
  for (let erased = PAGE_SIZE; erased === PAGE_SIZE && !signal.aborted; ) {
    erased = await eraseIdempotencyKeys(queries, { forgottenAt, pageSize: PAGE_SIZE });
    total += erased;
  }
  return total;
}
