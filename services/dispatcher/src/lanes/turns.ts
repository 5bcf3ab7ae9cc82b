import type { Lane } from "./budget.ts";
import type { EndpointSlots } from "./endpoint-slots.ts";
import type { Quarantine } from "./quarantine.ts";

/** An endpoint that may have due deliveries. */
export interface Endpoint {
  endpointId: string;
  organizationId: string;
}

/** Deliveries of an endpoint for which slots and places are taken. */
export interface Demand extends Endpoint {
  count: number;
}

export interface TurnParts {
  slots: Pick<EndpointSlots, "takeUpTo" | "giveBack" | "release" | "isWorthClaiming">;
  lane: Pick<Lane, "takeUpTo" | "giveBack" | "isFull">;
  quarantine: Pick<Quarantine, "has">;
  /** Whether an organization is to get nothing for now: what it has waits for something else. */
  isHeldBack?: (organizationId: string) => boolean;
}

/**
 * Which endpoints may have due deliveries, and whose turn it is: by turns between organizations, then between the endpoints of each.
 * A turn is one place, so what is free is shared evenly, also where it is little. Pure: no I/O and no time.
 */
export interface Turns {
  /** This endpoint may have due deliveries. */
  add(endpoint: Endpoint): void;
  /** A slot of this endpoint came free, or its limit has grown. */
  released(endpointId: string): void;
  hasReady(): boolean;
  /** Takes slots and places for those whose turn it is, until no more are free for anybody who is ready. */
  take(): Demand[];
  /** Takes a slot and a place for one delivery of this endpoint, or returns false: none is free, or others of the endpoint come first. */
  takeOne(endpoint: Endpoint): boolean;
  /**
   * The claim for these demands brought so many deliveries: the rest of slots and places is free again.
   *
   * @throws where it brought one that none of them asks for
   */
  claimed(demands: readonly Demand[], deliveries: readonly { endpointId: string }[]): void;
}

/** Endpoints that wait for a slot. The due scan comes back to those that are forgotten. */
const MAX_WAITING = 10_000;

export function createTurns({ slots, lane, quarantine, isHeldBack = () => false }: TurnParts): Turns {
  /** The organization of each endpoint that may have due deliveries, whether or not it has a slot for one. */
  const waiting = new Map<string, string>();
  /** Those of them that may have a free slot. Maps and sets keep their order: the first organization has waited longest. */
  const ready = new Map<string, Set<string>>();

  function wait({ endpointId, organizationId }: Endpoint): void {
    waiting.set(endpointId, organizationId);
    if (waiting.size > MAX_WAITING) waiting.delete(waiting.keys().next().value as string);
  }

  function makeReady({ endpointId, organizationId }: Endpoint): void {
    const endpoints = ready.get(organizationId);
    if (endpoints) endpoints.add(endpointId);
    else ready.set(organizationId, new Set([endpointId]));
  }

  function released(endpointId: string): void {
    const organizationId = waiting.get(endpointId);
    if (organizationId !== undefined && slots.isWorthClaiming(endpointId)) makeReady({ endpointId, organizationId });
  }

  /** One turn of an organization: a place for the first of its endpoints that has a free slot. Returns whether there was one. */
  function turnOf(organizationId: string, demands: Map<string, Demand>): boolean {
    const endpoints = ready.get(organizationId);
    if (!endpoints || isHeldBack(organizationId)) return false;
    if (lane.takeUpTo(organizationId, 1, { othersWait: ready.size > 1 }) === 0) return false;
    ready.delete(organizationId);
    for (const endpointId of endpoints) {
      endpoints.delete(endpointId);
      if (quarantine.has(endpointId) || slots.takeUpTo(endpointId, 1) === 0) continue;
      // Behind the others, both the endpoint and its organization.
      endpoints.add(endpointId);
      ready.set(organizationId, endpoints);
      const demand = demands.get(endpointId);
      if (demand) demand.count++;
      else demands.set(endpointId, { endpointId, organizationId, count: 1 });
      return true;
    }
    lane.giveBack(organizationId, 1);
    return false;
  }

  /** It is being claimed for. A hint that comes meanwhile makes it ready again. */
  function leave({ endpointId, organizationId }: Endpoint): void {
    waiting.delete(endpointId);
    const endpoints = ready.get(organizationId);
    endpoints?.delete(endpointId);
    if (endpoints?.size === 0) ready.delete(organizationId);
  }

  return {
    add(endpoint) {
      if (quarantine.has(endpoint.endpointId)) return;
      wait(endpoint);
      // Whatever is free: its attempts under way may hang, and free no more for long.
      makeReady(endpoint);
    },
    released,
    hasReady: () => ready.size > 0,
    take() {
      const demands = new Map<string, Demand>();
      let turns = [...ready.keys()];
      while (turns.length > 0 && !lane.isFull()) turns = turns.filter((each) => turnOf(each, demands));
      for (const demand of demands.values()) leave(demand);
      return [...demands.values()];
    },
    takeOne({ endpointId, organizationId }) {
      if (waiting.has(endpointId) || quarantine.has(endpointId)) return false;
      const othersWait = ready.size > (ready.has(organizationId) ? 1 : 0);
      if (lane.takeUpTo(organizationId, 1, { othersWait }) === 0) return false;
      if (slots.takeUpTo(endpointId, 1) === 1) return true;
      lane.giveBack(organizationId, 1);
      return false;
    },
    claimed(demands, deliveries) {
      const counts = new Map(demands.map(({ endpointId }) => [endpointId, 0]));
      for (const { endpointId } of deliveries) {
        const count = counts.get(endpointId);
        if (count === undefined) throw new Error(`A claim brought a delivery of ${endpointId}, which it was not for.`);
        counts.set(endpointId, count + 1);
      }
      for (const { endpointId, organizationId, count } of demands) {
        const got = counts.get(endpointId) ?? 0;
        lane.giveBack(organizationId, count - got);
        slots.giveBack(endpointId, count - got);
        // It got as many as it asked for, so it may have more. It queues behind the others.
        if (got === count) wait({ endpointId, organizationId });
      }
      for (const { endpointId } of demands) released(endpointId);
    },
  };
}
