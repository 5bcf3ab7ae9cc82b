import { Counts } from "@herald/common/runtime/counts";
import type { Basics } from "../basics.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Source } from "../metrics.ts";
import { type Permit, SLOW_MS } from "../producer/permits.ts";
import type { Producer } from "../producer/producer.ts";
import type { Shards } from "../shards/shards.ts";
import type { Delivery } from "../sql/describe-deliveries.ts";
import type { Attempt, MakeAttempt } from "./make-attempt.ts";
import { follow, type Outcome } from "./outcome.ts";

interface Parts extends Pick<Basics, "metrics"> {
  makeAttempt: MakeAttempt;
  configurationOf: (endpoint: Endpoint) => ReturnType<Attempt["configuration"]>;
  producer: Pick<Producer, "offer" | "schedule" | "settled" | "took">;
  shards: Pick<Shards, "becameIdle">;
}

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

      const keptWaiting = endpoint.keptWaiting(delivery);
      const configuration = () => configurationOf(endpoint);
      const made = makeAttempt({ endpoint, delivery, manual, keptWaiting, configuration, over });
      const settled = made.then((outcome) => {
        over();
        metrics.inFlight.dec({ source });
        attempts.delete(settled);
        producer.settled(endpoint, delivery, permit);
        follow(outcome, endpoint, delivery, offer);
        if (ofShard.add(shard, -1) === 0) shards.becameIdle(shard);
      });
      attempts.add(settled);
      return made;
    },
    /** Attempts of the shard that are not settled. */
    ofShard: (shard: number) => ofShard.of(shard),
    /** Resolves when nothing is in flight. */
    async idle(): Promise<void> {
      while (attempts.size > 0) await Promise.all(attempts);
    },
  };
}
