import type { Log } from "@herald/common/telemetry/log";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Delivery } from "../sql/describe-deliveries.ts";
import { createLatencies, createPermits, createReservations, type Permit, SPEEDS, type Speed } from "./permits.ts";
import { createByteBudget, createTurns } from "./turns.ts";

interface Parts {
  /** Whether attempts to endpoints of this shard may begin: see the table in docs/architecture.md. */
  mayBegin: (shard: number) => boolean;
  /** Reads rows into the endpoint's line, one for each reserved permit; `ahead`: and some more, to be in memory when the first attempts end. */
  read: (endpoint: Endpoint, reserved: number, options: { ahead: boolean }) => Promise<void>;
  /** Begins the attempt of the delivery, which the line holds no more. */
  attempt: (endpoint: Endpoint, delivery: Delivery, permit: Permit) => void;
  /** An endpoint that rested may have work again. */
  woke: (endpoint: Endpoint) => void;
  log: Log;
}

export interface ProducerBounds {
  inFlight: number;
  /** Bytes of the bodies of attempts at once, of those that are read only for their attempt. */
  bodiesBytes: number;
}

/** Attempts that begin in one turn of the event loop: a handshake takes a millisecond of CPU, and heartbeats and answers must not wait for many. */
const BEGIN_IN_TURN = 16;

export type Producer = ReturnType<typeof createProducer>;

/**
 * Decides which attempt begins next. An endpoint with work and room takes turns with the endpoints of its organization and speed, for permits, and
 * for bytes if its next body is large. An endpoint whose work is in PostgreSQL reserves permits first, and its rows are read for them.
 */
export function createProducer({ mayBegin, read, attempt, woke, log }: Parts, bounds: ProducerBounds) {
  const permits = createPermits(bounds.inFlight);
  const latencies = createLatencies();
  const bytes = createByteBudget<Endpoint>(bounds.bodiesBytes);
  const turns = { answering: createTurns<Endpoint>(), quick: createTurns<Endpoint>(), slow: createTurns<Endpoint>() };
  const reserved = createReservations<Endpoint>();
  /** Endpoints whose rows were read, and that have permits for them. */
  const withRows = createTurns<Endpoint>();
  /** Attempts that have begun in this turn of the event loop. */
  let begun = 0;
  let isScheduled = false;

  /** An endpoint with a hanging attempt counts as slow. */
  const speedOf = ({ id, gate }: Endpoint): Speed => (gate.isSlow ? "slow" : latencies.speedOf(id));

  const roomOf = (endpoint: Endpoint) =>
    !endpoint.isGone && mayBegin(endpoint.shard) ? endpoint.gate.room(reserved.countOf(endpoint)) : 0;

  /** Lets an endpoint wait for its turn, if it has work and room; else sets its timer. */
  function offer(endpoint: Endpoint): void {
    const { line, gate, isGone } = endpoint;
    if (isGone) return;
    const room = line.isEmpty ? 0 : roomOf(endpoint);
    if (room === 0) {
      endpoint.wakeLater(() => woke(endpoint));
      return;
    }
    // Do not read rows for a few free places while a quick attempt is in flight: when it ends or becomes slow, one statement reads more of them.
    const isFresh = reserved.countOf(endpoint) === 0;
    if (!line.hasReady && isFresh && gate.endsSoon && 2 * room < gate.limit) return;
    turns[speedOf(endpoint)].add(endpoint);
    schedule();
  }

  /** After this turn of the event loop, so that one statement serves all endpoints that have work by then. */
  function schedule(): void {
    if (!isScheduled) setImmediate(run);
    isScheduled = true;
  }

  /** Gives turns until no permit is free for a waiting endpoint, or enough attempts have begun. Endpoints of each speed take turns as well. */
  function run(): void {
    isScheduled = false;
    begun = 0;
    const wanting = new Set<Endpoint>();
    for (let isOver = false; !isOver; ) {
      if (begun >= BEGIN_IN_TURN) {
        schedule();
        break;
      }
      const hasRows = withRows.next();
      isOver = hasRows === undefined;
      if (hasRows) beginOfRows(hasRows);
      for (const speed of SPEEDS) {
        if (!permits.mayTake(speed)) continue;
        const endpoint = turns[speed].next();
        if (endpoint === undefined) continue;
        isOver = false;
        // Its speed may have changed while it waited.
        if (speedOf(endpoint) === speed) takeTurn(endpoint, wanting);
        else offer(endpoint);
      }
    }
    for (const endpoint of wanting) void readRows(endpoint);
  }

  function takeTurn(endpoint: Endpoint, wanting: Set<Endpoint>): void {
    if (roomOf(endpoint) === 0) {
      offer(endpoint);
      return;
    }
    const delivery = endpoint.line.peek();
    // Its rows wait no longer than for a turn, however many new deliveries are in memory.
    if (endpoint.line.isUnread && (delivery === undefined || !wanting.has(endpoint))) {
      reserved.add(endpoint, permits.take(speedOf(endpoint)));
      wanting.add(endpoint);
    } else if (delivery !== undefined && !begin(endpoint, delivery)) return;
    offer(endpoint);
  }

  async function readRows(endpoint: Endpoint): Promise<void> {
    try {
      await read(endpoint, reserved.countOf(endpoint), { ahead: speedOf(endpoint) !== "slow" });
      if (endpoint.isGone) return;
      withRows.add(endpoint);
      schedule();
    } catch (error) {
      // An error in one endpoint ends neither the process nor the work of the others.
      log.error("an endpoint's rows can't be read; a sweep comes back to them", { endpointId: endpoint.id, error });
      reserved.end(endpoint);
    }
  }

  /** Begins an attempt of an endpoint whose rows were read, with a permit that is reserved for it. */
  function beginOfRows(endpoint: Endpoint): void {
    const permit = reserved.take(endpoint);
    const delivery = endpoint.line.peek();
    const isBegun = permit && delivery && roomOf(endpoint) > 0 && begin(endpoint, delivery, permit);
    if (isBegun && reserved.countOf(endpoint) > 0) {
      withRows.add(endpoint);
      return;
    }
    if (!isBegun) permit?.settled();
    reserved.end(endpoint);
    offer(endpoint);
  }

  /** Begins the attempt of the line's first delivery, unless the endpoint waits for bytes. It may still end without a request: see make-attempt.ts. */
  function begin(endpoint: Endpoint, delivery: Delivery, permit?: Permit): boolean {
    if (!takeBytes(endpoint, delivery)) return false;
    endpoint.line.removeFirst();
    begun++;
    attempt(endpoint, delivery, permit ?? permits.take(speedOf(endpoint)));
    return true;
  }

  /** Small bodies came with their rows, and are bounded by the number of attempts. */
  const takeBytes = (endpoint: Endpoint, { body, bodyBytes }: Delivery) =>
    body !== null || bytes.take(endpoint, bodyBytes);

  return {
    offer,
    /** Takes a permit for a delivery that does not wait for its turn; undefined if none is free. */
    permitAtOnce(endpoint: Endpoint, delivery: Delivery): Permit | undefined {
      if (!mayBegin(endpoint.shard) || !permits.mayTake("answering") || !takeBytes(endpoint, delivery))
        return undefined;
      begun++;
      return permits.take(speedOf(endpoint));
    },
    took: (endpoint: Endpoint, durationMs: number) => latencies.took(endpoint.id, durationMs),
    /** The attempt of this delivery is settled, or was not made. */
    settled(endpoint: Endpoint, { body, bodyBytes }: Delivery, permit: Permit): void {
      permit.settled();
      schedule();
      if (body === null) for (const waited of bytes.release(endpoint, bodyBytes)) offer(waited);
    },
    /** An attempt has changed its permit. */
    schedule,
    forget(endpoint: Endpoint): void {
      for (const speed of SPEEDS) turns[speed].remove(endpoint);
      withRows.remove(endpoint);
      bytes.leave(endpoint);
      reserved.end(endpoint);
    },
  };
}
