import type { Broker } from "@herald/common/broker/broker";
import type { Queries } from "@herald/common/database/queries";
import { ownerOf } from "@herald/common/database/shards";
import type { Log } from "@herald/common/telemetry/log";
import type { EndpointChanged } from "@herald/contracts";
import type { Parts } from "../parts.ts";

/**
 * Notifies the dispatcher that owns an endpoint of its change or deletion, over the broker and without a confirm. Never throws. If that fails, nothing is lost: no attempt begins on configuration that was read more than
 * half a second ago, and every few seconds an owner looks for endpoints that have work.
 */
export function ownerTeller({
  broker,
  queries,
  log,
}: {
  broker: Broker;
  queries: Queries;
  log: Log;
}): Parts["tellOwner"] {
  const sender = broker.sender();
  return async ({ id: endpointId, organizationId }) => {
    try {
      const owner = await ownerOf(queries, endpointId);
      if (owner === null) return;
      const changed: EndpointChanged = { kind: "changed", endpointId, organizationId };
      const content = Buffer.from(JSON.stringify(changed));
      sender.send({ exchange: broker.names.requestsExchange, routingKey: owner, content });
    } catch (error) {
      log.warn("the owner of a changed endpoint can't be notified; it reads the change within a few seconds", {
        endpointId,
        error,
      });
    }
  };
}
