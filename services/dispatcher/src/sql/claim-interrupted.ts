import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import { type Claim, type ClaimedDelivery, take } from "./claimed-delivery.ts";

/** Due rows that one statement looks through. Interrupted ones behind a longer backlog are found when it is worked off. */
const ROWS_PER_LOOK = 100;

/**
 * Claims the oldest delivery of an endpoint that was interrupted again: its lease ran out, while the claim of a dispatcher that died
 * still stands in its row, and that was not the first time. One at a time: if it was this delivery that ended its dispatchers, it takes no
 * others along.
 *
 * Locks that row of `due`; skips it where another locks it. Walks due_endpoint_id_due_at_idx and due_pkey.
 *
 * @param endpoint `since` as in an `EndpointDemand`
 */
export async function claimInterrupted(
  queries: Queries,
  { endpointId, since }: { endpointId: string; since: Date },
  claim: Claim,
): Promise<ClaimedDelivery | undefined> {
  const [claimed] = await take(
    queries,
    claim,
    Prisma.sql`
      select due.delivery_id, due.claim_id
      from (
        select delivery_id from (
          select delivery_id, claim_id, interruptions from due
          where endpoint_id = ${endpointId}::uuid
            and due_at between ${since}::timestamptz and ${claim.now}::timestamptz
          order by due_at
          limit ${ROWS_PER_LOOK}
        ) as front
        where claim_id <> delivery_id and interruptions > 0
        limit 1
      ) as oldest
      join due on due.delivery_id = oldest.delivery_id
      join webhook_endpoint as endpoint on endpoint.id = due.endpoint_id and endpoint.enabled
      where due.claim_id <> due.delivery_id and due.interruptions > 0 and due.due_at <= ${claim.now}::timestamptz
      for update of due skip locked`,
  );
  return claimed;
}
