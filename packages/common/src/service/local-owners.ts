import type { HandOver } from "@herald/contracts";

/** The dispatchers of this process, by the ids of their rows: in `herald serve`, what its publisher hands over is a call. */
export interface LocalOwners {
  /** @returns ends it */
  register(ownerId: string, take: (handOver: HandOver) => void): () => void;
  /** Hands over to a dispatcher of this process; false where it is none. */
  handOver(ownerId: string, handOver: HandOver): boolean;
}

export function createLocalOwners(): LocalOwners {
  const owners = new Map<string, (handOver: HandOver) => void>();
  return {
    register(ownerId, take) {
      owners.set(ownerId, take);
      return () => void owners.delete(ownerId);
    },
    handOver(ownerId, handOver) {
      const take = owners.get(ownerId);
      // After this turn of the event loop: an acknowledgement of the event does not wait for what its attempts begin with.
      if (take) setImmediate(take, handOver);
      return take !== undefined;
    },
  };
}
