import type { Broker } from "@herald/common/broker/broker";
import type { Queries } from "@herald/common/database/queries";
import { ownerOf } from "@herald/common/database/shards";
import type { Log } from "@herald/common/telemetry/log";
import type { EndpointChanged, ManualRequest } from "@herald/contracts";

/** Sends a message to the dispatcher that owns an endpoint. Returns whether it was sent. Never throws. */
export type TellOwner = (message: EndpointChanged | ManualRequest) => Promise<boolean>;

/**
 * Sends over the broker and without a confirm. If a message is lost, nothing else is: no attempt begins on configuration that was read more than half a
 * second ago, and every few seconds an owner looks for endpoints that have work.
 */
export function ownerTeller({ broker, queries, log }: { broker: Broker; queries: Queries; log: Log }): TellOwner {
  const sender = broker.sender();
  return async (message) => {
    const { kind, endpointId } = message;
    try {
      const owner = await ownerOf(queries, endpointId);
      if (owner === null) return false;
      const content = Buffer.from(JSON.stringify(message));
      return sender.send({ exchange: broker.names.requestsExchange, routingKey: owner, content });
    } catch (error) {
      log.warn("the owner of an endpoint can't be notified; it reads what is new within a few seconds", {
        ...{ kind, endpointId, error },
      });
      return false;
    }
  };
}
