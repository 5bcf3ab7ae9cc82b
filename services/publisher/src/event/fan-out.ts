import { isDataError, isTooMuch } from "@herald/common/database/errors";
import { untilAnswered } from "@herald/common/database/queries";
import { shrinkingBatches, shrinkingPages } from "@herald/common/database/shrinking";
import type { StatementFailures } from "@herald/common/database/statement-failures";
import type { Basics } from "../basics.ts";
import type { ForOwners, IncomingEvent } from "../sql/rows.ts";
import {
  type EventPage,
  FIRST_ENDPOINT,
  type StoredEvents,
  type Subscription,
  storeEvents,
} from "../sql/store-events.ts";

/** An event, and the endpoint up to which it has its deliveries, if any. */
export type FanOutItem = { event: IncomingEvent; afterEndpointId?: string };

export type FanOutOutcome =
  | { kind: "stored" }
  /** The event has more endpoints than the page: the next page begins after this one. */
  | { kind: "unfinished"; afterEndpointId: string }
  /** The event keeps the contract, and PostgreSQL can't store it. */
  | { kind: "unstorable"; reason: string }
  /** PostgreSQL can't store the event in time, even alone: it must be fanned out later, alone. */
  | { kind: "too much"; error: unknown };

export interface FanOutResult {
  /** In the order of the items. */
  outcomes: FanOutOutcome[];
  /** The new deliveries of each statement, for the owners of the endpoints. */
  made: ForOwners[];
  deliveryCount: number;
  /** The endpoints that get events like these, as the statements have read them. */
  subscriptions: Subscription[];
}

export type FanOut = ReturnType<typeof createFanOut>;

/** Deliveries that one statement may make. On a busy machine 25,000 took four seconds, and the events of all organizations waited for them. */
const MAX_DELIVERIES = 5_000;

/** Turns events into stored deliveries. While PostgreSQL is out of reach it waits and tries again; it throws only when `signal` ends the waiting. */
export function createFanOut(
  parts: Basics & { createProgress: StatementFailures["createProgress"]; signal: AbortSignal },
  { maxEvents }: { maxEvents: number },
) {
  const { queries, createProgress, clock, log } = parts;
  const inBatches = shrinkingBatches(async (pages: readonly EventPage[]) => [await store(pages)], {
    max: maxEvents,
    what: "fan-outs",
    log,
    progress: createProgress(),
  });
  const inPages = shrinkingPages({ max: MAX_DELIVERIES });

  const store = (pages: readonly EventPage[]): Promise<StoredEvents> =>
    untilAnswered(parts, "events can't be stored; they wait in RabbitMQ until PostgreSQL takes them", () =>
      storeEvents(queries, pages, clock.now()),
    );

  return {
    async together(items: readonly FanOutItem[]): Promise<FanOutResult> {
      const maxEndpoints = Math.max(1, Math.floor(MAX_DELIVERIES / items.length));
      const pages = items.map((item) => pageOf(item, maxEndpoints));
      const { results, setAside } = await inBatches(pages);
      return resultOf(pages, results, setAside);
    },
    /** Fans out one event alone. The page is as large as PostgreSQL can store it in time. */
    async alone(item: FanOutItem): Promise<FanOutResult> {
      let page = pageOf(item, MAX_DELIVERIES);
      try {
        const stored = await inPages((maxEndpoints) => {
          page = pageOf(item, maxEndpoints);
          return store([page]);
        });
        return resultOf([page], [stored], []);
      } catch (error) {
        if (!isDataError(error) && !isTooMuch(error)) throw error;
        return resultOf([page], [], [{ item: page, error }]);
      }
    },
  };
}

function pageOf({ event, afterEndpointId = FIRST_ENDPOINT }: FanOutItem, maxEndpoints: number): EventPage {
  return { event, afterEndpointId, maxEndpoints };
}

function resultOf(
  pages: readonly EventPage[],
  stored: readonly StoredEvents[],
  setAside: readonly { item: EventPage; error: unknown }[],
): FanOutResult {
  const unfinished = new Map(stored.flatMap((statement) => [...statement.unfinished]));
  const failures = new Map(setAside.map(({ item, error }) => [item, error]));
  return {
    outcomes: pages.map((page) => {
      const afterEndpointId = unfinished.get(page);
      if (afterEndpointId !== undefined) return { kind: "unfinished", afterEndpointId };
      return failures.has(page) ? failureOf(failures.get(page)) : { kind: "stored" };
    }),
    made: stored.map(({ made }) => made),
    deliveryCount: stored.reduce((sum, { deliveryCount }) => sum + deliveryCount, 0),
    subscriptions: stored.flatMap(({ subscriptions }) => subscriptions),
  };
}

function failureOf(error: unknown): FanOutOutcome {
  if (isTooMuch(error)) return { kind: "too much", error };
  return { kind: "unstorable", reason: `it can't be stored: ${(error as Error).message}` };
}
