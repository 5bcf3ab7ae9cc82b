import { once } from "node:events";
import type { Consumer } from "@herald/common/broker/broker";
import type { Clock } from "@herald/common/runtime/clock";
import { repeat } from "@herald/common/runtime/repeat";
import type { Log } from "@herald/common/telemetry/log";

interface Parts {
  /** Begins to take events, of each queue as many at a time as it is told. */
  consume: (prefetch: number) => Consumer;
  running: { isRunning(): boolean; idle(): Promise<void> };
  clock: Clock;
  log: Log;
}

export interface GiveBackOptions {
  /** How long none may be stored before all go back to RabbitMQ, in milliseconds: longer than a statement may take. */
  nothingStoredMs: number;
  /** How long the connection may rest before all go back to RabbitMQ, in milliseconds; 15 s by default. */
  restMs?: number;
}

/** Messages of a queue that this process may hold. An event on arrival is held for up to 300 ms, so a busy queue has some 2,000 events a second. */
export const PREFETCH = 500;

/** Few enough of each queue that the connection is always read. */
const CAREFUL_PREFETCH = 1;

/** RabbitMQ closes a connection to which it can send nothing for 30 s. */
const REST_MS = 15_000;

/** How often to look whether events have to go back. */
const WATCH_MS = 500;

/** How events are taken: as many as there is room for; or few, until one of them was stored soon. */
type Taking = "many" | "few" | "few, and one was stored soon";

/**
 * Takes events, and gives all of them back if none can be stored. Then RabbitMQ counts one delivery of each for the whole outage, and another publisher
 * gets them. Else it would count one more whenever it closes a connection that is not read, or a channel that holds a message for 30 minutes; and it
 * takes an event out of the inbox that was delivered too often.
 *
 * Events are taken again when the running batches have ended, so not before PostgreSQL answers. If PostgreSQL is slow, they are taken few at a time,
 * so that the connection does not rest: else all that RabbitMQ sends in advance would go back again and again.
 */
export function takeOrGiveBack(
  { consume, running, clock, log }: Parts,
  { nothingStoredMs, restMs = REST_MS }: GiveBackOptions,
) {
  let consumer = consume(PREFETCH);
  let taking: Taking = "many";
  /** When the work on an event ended, or an event came while none was held. */
  let movedAtMs = 0;

  const isStill = () =>
    consumer.restingMs() >= restMs || (running.isRunning() && clock.monotonicMs() - movedAtMs >= nothingStoredMs);

  async function watch(signal: AbortSignal): Promise<void> {
    if (taking === "few, and one was stored soon") {
      await consumer.close();
      take("many", signal);
    } else if (isStill()) {
      log.error("events can't be stored for long; they go back to RabbitMQ until PostgreSQL takes some again");
      await consumer.close({ drainTimeoutMs: 0 });
      if (!signal.aborted) await Promise.race([running.idle(), once(signal, "abort")]);
      if (!signal.aborted) log.info("events are taken again");
      take("few", signal);
    }
  }

  function take(next: "many" | "few", signal: AbortSignal): void {
    if (signal.aborted) return;
    taking = next;
    consumer = consume(next === "many" ? PREFETCH : CAREFUL_PREFETCH);
  }

  const watching = repeat(watch, {
    intervalMs: WATCH_MS,
    onFailure: (error) => log.error("events that wait for long can't be given back", { error }),
  });

  return {
    /** An event came while none was held. */
    began(): void {
      movedAtMs = clock.monotonicMs();
    },
    /** Says that the work on an event has ended that came at `arrivedAtMs`. */
    ended(arrivedAtMs: number): void {
      movedAtMs = clock.monotonicMs();
      if (taking !== "many" && movedAtMs - arrivedAtMs < restMs) taking = "few, and one was stored soon";
    },
    restingMs: () => consumer.restingMs(),
    async close(options?: Parameters<Consumer["close"]>[0]): Promise<void> {
      await watching.stop();
      await consumer.close(options);
    },
  };
}
