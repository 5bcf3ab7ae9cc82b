import { shardOf } from "@herald/common/database/shards";
import { Counts } from "@herald/common/runtime/counts";
import type { ManualRequest } from "@herald/contracts";
import type { Basics } from "../basics.ts";
import type { Shards } from "../shards/shards.ts";
import { describeDeliveries } from "../sql/describe-deliveries.ts";
import { readDueRow } from "../sql/read-due.ts";
import type { Owner } from "./owner.ts";

/**
 * Caps on the manual deliveries under way, slow ones included. Pure.
 *
 * A tenth of all for one endpoint: a receiver that hangs keeps each of them for the whole time of an attempt. A fifth for one organization: only five
 * organizations together can fill everything.
 */
export function manualCaps(concurrency: number) {
  const ofEndpoint = Math.max(1, Math.floor(concurrency / 10));
  const ofOrganization = Math.max(1, Math.floor(concurrency / 5));
  const endpoints = new Counts<string>();
  const organizations = new Counts<string>();

  return {
    enter(endpointId: string, organizationId: string): boolean {
      if (endpoints.of(endpointId) >= ofEndpoint || organizations.of(organizationId) >= ofOrganization) return false;
      endpoints.add(endpointId);
      organizations.add(organizationId);
      return true;
    },
    leave(endpointId: string, organizationId: string): void {
      endpoints.add(endpointId, -1);
      organizations.add(organizationId, -1);
    },
  };
}

/**
 * Makes manual deliveries at once, beyond the limits of an endpoint, which its other deliveries may fill: an admin waits for the answer. They have
 * caps of their own instead. A delivery above them joins the line of its endpoint. Never rejects: what was not attempted is due some seconds later.
 */
export function createManualDeliveries(
  { queries, owner, shards, log }: Basics & { owner: Owner; shards: Shards },
  concurrency: number,
) {
  const caps = manualCaps(concurrency);

  async function attempt({ deliveryId, endpointId, organizationId, dueAtUtc, traceparent }: ManualRequest) {
    const epoch = shards.epochOf(shardOf(endpointId));
    if (epoch === undefined) return;
    const row = await readDueRow(queries, { endpointId, deliveryId, dueAt: new Date(dueAtUtc), epoch });
    const [delivery] = row ? await describeDeliveries(queries, [row]) : [];
    // PostgreSQL decides the organization, and not the message.
    if (delivery?.organizationId !== organizationId) return;
    const isWithin = caps.enter(endpointId, organizationId);
    try {
      await owner.manual({ ...delivery, traceparent }, isWithin);
    } finally {
      if (isWithin) caps.leave(endpointId, organizationId);
    }
  }

  return (request: ManualRequest): Promise<void> =>
    attempt(request).catch((error) => {
      const { deliveryId, endpointId } = request;
      log.warn("a manual delivery has to wait", { deliveryId, endpointId, error });
    });
}

export type ManualDeliveries = ReturnType<typeof createManualDeliveries>;
