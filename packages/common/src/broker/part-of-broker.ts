import type { Broker } from "./broker.ts";

/**
 * One service's part of a broker that several services of a process share. Closing it closes what was started on it, and leaves
 * the connections to the others. It is ready when the whole broker is.
 */
export function partOfBroker(broker: Broker): Broker {
  const parts = new Set<{ close(): Promise<void> }>();
  const own = <Part extends { close(): Promise<void> }>(part: Part): Part => {
    parts.add(part);
    return part;
  };
  return {
    ...broker,
    consume: (options) => own(broker.consume(options)),
    consumeAsOwner: (ownerId, options) => own(broker.consumeAsOwner(ownerId, options)),
    publisher: (options) => own(broker.publisher(options)),
    sender: () => own(broker.sender()),
    requester: () => own(broker.requester()),
    inspector: () => own(broker.inspector()),
    async close() {
      await Promise.all([...parts].map((part) => part.close()));
    },
  };
}
