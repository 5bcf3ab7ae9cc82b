import { Counts } from "@herald/common/runtime/counts";
import type { Basics } from "../basics.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Source } from "../metrics.ts";
import { type Permit, SLOW_MS } from "../producer/permits.ts";
import type { Producer } from "../producer/producer.ts";
import type { Shards } from "../shards/shards.ts";
import type { Delivery } from "../sql/describe-deliveries.ts";
import type { Attempt, MakeAttempt, Outcome } from "./make-attempt.ts";

interface Parts extends Basics {
  makeAttempt: MakeAttempt;
  configurationOf: (endpoint: Endpoint) => ReturnType<Attempt["configuration"]>;
  producer: Producer;
  shards: Shards;
}

/**
 * A shard is not given up before its results are stored, since its next owner would make their attempts again. A locked row keeps it no longer than
 * this: all its other endpoints wait too.
 */
const LOCKED_MS = 20_000;

/** The attempts in flight, each from its beginning until it is settled. */
export function createInFlight({ makeAttempt, configurationOf, metrics, producer, shards }: Parts) {
  const ofShard = new Counts<number>();
  const attempts = new Set<Promise<void>>();

  return {
    /** Begins an attempt. Resolves when it is settled; never rejects. */
    begin(endpoint: Endpoint, delivery: Delivery, permit: Permit, source: Source): Promise<Outcome> {
      const { gate, shard } = endpoint;
      const manual = source === "manual";
      const offer = () => producer.offer(endpoint);
      metrics.inFlight.inc({ source });
      let isOver = false;
      let isSlow = false;
      let isLocked = false;
      let isOfShard = true;
      gate.begin({ manual });
      ofShard.add(shard);
      const slow = setTimeout(() => {
        isSlow = true;
        gate.slow();
        permit.slow();
        offer();
        producer.schedule();
      }, SLOW_MS);

      function over(durationMs?: number): void {
        if (isOver) return;
        isOver = true;
        clearTimeout(slow);
        if (durationMs !== undefined) producer.took(endpoint, durationMs);
        permit.ended();
        gate.over({ wasSlow: isSlow });
        offer();
      }

      function locked(): void {
        isLocked = true;
        gate.lock();
        permit.locked();
        producer.schedule();
        setTimeout(leaveShard, LOCKED_MS).unref();
      }

      function leaveShard(): void {
        if (isOfShard && ofShard.add(shard, -1) === 0) shards.becameIdle(shard);
        isOfShard = false;
      }

      const keptWaiting = endpoint.keptWaiting(delivery);
      const configuration = () => configurationOf(endpoint);
      const made = makeAttempt({ endpoint, delivery, manual, keptWaiting, configuration, over, locked });
      const settled = made.then((outcome) => {
        over();
        if (isLocked) gate.unlock();
        metrics.inFlight.dec({ source });
        attempts.delete(settled);
        producer.settled(endpoint, delivery, permit);
        follow(outcome, endpoint, delivery, offer);
        leaveShard();
      });
      attempts.add(settled);
      return made;
    },
    /** Attempts of the shard that are not settled, without those that have waited long for a locked row. */
    ofShard: (shard: number) => ofShard.of(shard),
    async idle(): Promise<void> {
      while (attempts.size > 0) await Promise.all(attempts);
    },
  };
}

/**
 * Does what follows from an outcome for the delivery and its endpoint. The receiver is free by then, and the permit given back.
 *
 * | outcome | delivery | endpoint |
 * |---|---|---|
 * | settled | has ended; or is read again when it is due | |
 * | put back | waits in memory, before the others | rests for `restMs` |
 * | left | is forgotten after `forMs`, and read again if PostgreSQL has its row | |
 * | gone | is forgotten | |
 */
function follow(outcome: Outcome, endpoint: Endpoint, delivery: Delivery, offer: () => void): void {
  const { line, gate, isGone } = endpoint;
  if (outcome.kind === "settled") line.settled(delivery, outcome.nextAttemptAt);
  else if (outcome.kind === "left") {
    const leave = () => {
      line.leave(delivery);
      offer();
    };
    if (outcome.forMs === 0) leave();
    else setTimeout(leave, outcome.forMs).unref();
  } else if (outcome.kind === "put back" && !isGone) {
    gate.rest(outcome.restMs);
    line.putBack(delivery);
  } else line.forget(delivery);
  offer();
}
