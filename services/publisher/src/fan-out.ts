import { isDataError } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import { retry } from "@herald/common/runtime/retry";
import type { Log } from "@herald/common/telemetry/log";
import type { Hint } from "@herald/contracts";
import type { IncomingEvent } from "./ingest/read-event.ts";
import { storeEvents } from "./sql/store-events.ts";

export interface FanOutOptions {
  /** How far back events are delivered (SPEC 8: seven days), in milliseconds. */
  windowMs: number;
  /** How long after its making the due scan may take a delivery whose hint was lost, in milliseconds. */
  hintGraceMs: number;
}

export interface FanOutResult {
  hints: Hint[];
  /** Events that PostgreSQL cannot store, though they keep the contract; each with PostgreSQL's message. */
  unstorable: { event: IncomingEvent; reason: string }[];
}

export type FanOut = (events: readonly IncomingEvent[]) => Promise<FanOutResult>;

/**
 * Turns events into stored deliveries. While PostgreSQL is out of reach it waits and tries again; it throws only when
 * `signal` ends the waiting.
 */
export function createFanOut(
  { queries, clock, log, signal }: { queries: Queries; clock: Clock; log: Log; signal: AbortSignal },
  { windowMs, hintGraceMs }: FanOutOptions,
): FanOut {
  return async (events) => {
    try {
      return { hints: await store(events), unstorable: [] };
    } catch (error) {
      if (!isDataError(error)) throw error;
      // One bad event must not fail its whole batch. Each event is tried alone, to find the bad one.
      return await storeEach(events);
    }
  };

  async function storeEach(events: readonly IncomingEvent[]): Promise<FanOutResult> {
    const result: FanOutResult = { hints: [], unstorable: [] };
    for (const event of events) {
      try {
        result.hints.push(...(await store([event])));
      } catch (error) {
        if (!isDataError(error)) throw error;
        result.unstorable.push({ event, reason: `it can't be stored: ${(error as Error).message}` });
      }
    }
    return result;
  }

  async function store(events: readonly IncomingEvent[]): Promise<Hint[]> {
    return await retry(
      () => {
        const now = clock.now();
        return storeEvents(queries, events, {
          now,
          windowStart: new Date(now.getTime() - windowMs),
          hintGraceUntil: new Date(now.getTime() + hintGraceMs),
        });
      },
      {
        shouldRetry: (error) => !isDataError(error),
        onFirstFailure: (error) =>
          log.error("events can't be stored; they wait in RabbitMQ until PostgreSQL takes them", { error }),
        signal,
      },
    );
  }
}
