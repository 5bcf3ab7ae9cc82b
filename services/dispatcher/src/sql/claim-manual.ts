import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import { type Claim, type ClaimedDelivery, take } from "./claimed-delivery.ts";

/**
 * Claims a delivery by its id, whatever its time: for a manual delivery, whose due row waits for this claim before the due
 * scan may take it. Nothing where the endpoint is disabled (SPEC 4.1.2), or another claim holds the delivery.
 *
 * Locks that row of `due`; skips it where another locks it. Walks due_pkey.
 */
export async function claimManual(
  queries: Queries,
  deliveryId: string,
  claim: Claim,
): Promise<ClaimedDelivery | undefined> {
  const [claimed] = await take(
    queries,
    claim,
    Prisma.sql`
      select due.delivery_id, due.claim_id
      from due
      join webhook_endpoint as endpoint on endpoint.id = due.endpoint_id and endpoint.enabled
      where due.delivery_id = ${deliveryId}::uuid and due.claim_id is null
      for update of due skip locked`,
  );
  return claimed;
}
