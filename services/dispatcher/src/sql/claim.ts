import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import { type Claim, type ClaimedDelivery, take } from "./claimed-delivery.ts";

/** Deliveries of an endpoint that are wanted now. */
export interface EndpointDemand {
  endpointId: string;
  count: number;
  /** Nothing that was due before this time is alive, so the claim need not pass the dead rows there. */
  since: Date;
}

/**
 * Claims up to `count` due deliveries of each endpoint in `demands`, oldest first. Each endpoint has its own limit, so that
 * a large backlog of one hides no other's. Nothing of a disabled endpoint is claimed: its rows stay as they are.
 *
 * A delivery that is leased to its hint (its claim is its own id) is claimed when that lease has ended: the hint was lost.
 * So is one that still bears the claim of a dispatcher that died. Those that were interrupted before are passed over: they have a statement
 * of their own (claim-interrupted.ts). An endpoint has no more of them than it had attempts in flight at such a death.
 *
 * Locks those rows of `due`, skips those that others lock. Walks due_endpoint_id_due_at_idx, once an endpoint.
 */
export async function claim(
  queries: Queries,
  demands: readonly EndpointDemand[],
  claim: Claim,
): Promise<ClaimedDelivery[]> {
  return await take(
    queries,
    claim,
    Prisma.sql`
      select due.delivery_id, due.claim_id
      from unnest(
        ${demands.map((demand) => demand.endpointId)}::uuid[],
        ${demands.map((demand) => demand.count)}::int[],
        ${demands.map((demand) => demand.since)}::timestamptz[]
      ) as demand (endpoint_id, count, since)
      join webhook_endpoint as endpoint on endpoint.id = demand.endpoint_id and endpoint.enabled
      cross join lateral (
        select delivery_id, claim_id from due
        where due.endpoint_id = demand.endpoint_id
          and due_at between demand.since and ${claim.now}::timestamptz
          and (claim_id is null or claim_id = delivery_id or interruptions = 0)
        order by due_at
        limit demand.count
        for update skip locked
      ) as due`,
  );
}
