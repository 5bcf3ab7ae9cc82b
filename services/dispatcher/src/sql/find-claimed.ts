import type { Queries } from "@herald/common/database/queries";
import { type Claim, type ClaimedDelivery, describe, type TakenRow, takenColumns } from "./claimed-delivery.ts";

/**
 * Finds what a claim took whose answer was lost. Without it, those deliveries would wait for the end of their lease.
 *
 * Locks nothing. Walks due_endpoint_id_due_at_idx, at the one time at which this claim's leases end.
 */
export async function findClaimed(
  queries: Queries,
  endpointIds: readonly string[],
  claim: Claim,
): Promise<ClaimedDelivery[]> {
  const taken = await queries.$queryRaw<TakenRow[]>`
    select ${takenColumns} from due
    where endpoint_id = any (${endpointIds}::uuid[])
      and due_at = ${claim.leasedUntil}::timestamptz
      and claim_id = ${claim.claimId}::uuid`;
  return await describe(queries, claim, taken);
}
