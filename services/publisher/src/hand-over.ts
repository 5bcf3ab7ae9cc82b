import type { Sender } from "@herald/common/broker/broker";
import type { Names } from "@herald/common/broker/topology";
import type { LocalOwners } from "@herald/common/service/open-process";
import type { HandOver } from "@herald/contracts";
import type { PublisherMetrics } from "./metrics.ts";
import type { EndpointWithWork, ForOwners, IncomingEvent, NewDelivery } from "./sql/rows.ts";

interface Parts {
  localOwners: LocalOwners;
  sender: Sender;
  names: Names;
  metrics: PublisherMetrics;
}

/** An event with a larger body is not handed over: the owner reads the body from PostgreSQL when there is room for it. */
export const MAX_BODY_BYTES = 8 * 1024;

/** Bytes of all bodies of one message. A larger message would delay those behind it. */
const MAX_MESSAGE_BYTES = 256 * 1024;

/**
 * Hands over to each owner its deliveries: to a dispatcher of this process by a call, to others by messages. A message that can't be sent at once is
 * dropped, and so are deliveries without an owner: owners look in PostgreSQL every few seconds, and read everything there when they take a shard.
 */
export function handOver({ localOwners, sender, names, metrics }: Parts, made: ForOwners): void {
  for (const [owner, messages] of messagesByOwner(made)) {
    for (const message of messages) {
      const take = localOwners.get(owner ?? "");
      // After this turn of the event loop: an acknowledgement of the event does not wait for what its attempts begin with.
      if (take) setImmediate(take, message);
      const isHandedOver =
        take !== undefined ||
        (owner !== null &&
          sender.send({
            exchange: names.dispatchExchange,
            routingKey: owner,
            content: Buffer.from(JSON.stringify(message)),
          }));
      const { length: endpoints } = message.work.filter(({ arrived }) => arrived === undefined);
      metrics.handedOver.inc({ result: isHandedOver ? "sent" : "dropped" }, message.deliveries.length + endpoints);
    }
  }
}

/** The messages by owner; null is the key of deliveries without an owner. */
function messagesByOwner({ stored, deliveries, work }: ForOwners): Map<string | null, HandOver[]> {
  const packers = new Map<string | null, ReturnType<typeof createPacker>>();
  const packerOf = (owner: string | null) => {
    const packer = packers.get(owner) ?? createPacker(stored);
    packers.set(owner, packer);
    return packer;
  };
  for (const delivery of deliveries) packerOf(delivery.owner).addDelivery(delivery);
  for (const endpoint of work) packerOf(endpoint.owner).addWork(endpoint);
  return new Map([...packers].map(([owner, { messages }]) => [owner, messages]));
}

/** Packs the deliveries of one owner into as few messages as possible. Of those that it got when their events arrived, they have the ids alone. */
function createPacker(stored: boolean) {
  const messages: HandOver[] = [];
  const withWork = new Set<string>();
  /** The ids of deliveries that were handed over before, by endpoint. */
  const arrived = new Map<string, string[]>();
  /** The events of the last message, by their places in it. */
  let places = new Map<IncomingEvent, number>();
  let bytes = 0;

  function next(): HandOver {
    const message = { stored, events: [], deliveries: [], work: [] };
    messages.push(message);
    places = new Map();
    bytes = 0;
    return message;
  }

  function addWork({ endpointId, organizationId }: Omit<EndpointWithWork, "owner">): void {
    if (withWork.has(endpointId)) return;
    withWork.add(endpointId);
    (messages.at(-1) ?? next()).work.push({ endpointId, organizationId });
  }

  function addArrived({ id, endpointId, event: { organizationId } }: NewDelivery): void {
    const ids = arrived.get(endpointId) ?? [];
    if (ids.push(id) > 1) return;
    arrived.set(endpointId, ids);
    (messages.at(-1) ?? next()).work.push({ endpointId, organizationId, arrived: ids });
  }

  return {
    messages,
    addWork,
    addDelivery(delivery: NewDelivery) {
      const { id: deliveryId, endpointId, revision, readAt, event } = delivery;
      if (stored && event.handedOver) return addArrived(delivery);
      const { organizationId, type: eventType, body, traceparent, key, receivedAt } = event;
      const bodyBytes = Buffer.byteLength(body);
      if (bodyBytes > MAX_BODY_BYTES) return addWork({ endpointId, organizationId });
      let message = messages.at(-1) ?? next();
      let place = places.get(event);
      if (place === undefined) {
        if (bytes + bodyBytes > MAX_MESSAGE_BYTES) message = next();
        place = message.events.push({ eventType, body, traceparent, key, receivedAtUtc: receivedAt.toISOString() }) - 1;
        places.set(event, place);
        bytes += bodyBytes;
      }
      const readAtUtc = readAt.toISOString();
      message.deliveries.push({ deliveryId, endpointId, organizationId, revision, readAtUtc, event: place });
    },
  };
}
