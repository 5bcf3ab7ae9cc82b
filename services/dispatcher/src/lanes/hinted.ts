import { isDataError } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import { retry } from "@herald/common/runtime/retry";
import type { Log } from "@herald/common/telemetry/log";
import type { HintedDelivery } from "@herald/contracts";
import type { Deliver } from "../delivery/deliver.ts";
import type { ClaimedDelivery, ReadyDelivery } from "../sql/claimed-delivery.ts";
import { moveHinted } from "../sql/move-hinted.ts";
import type { Endpoint } from "./turns.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  log: Log;
  /** Ends the waiting for PostgreSQL. */
  signal: AbortSignal;
}

/**
 * First attempts without a claim: a new delivery is leased to its hint for a moment, and the hint carries what the attempt needs,
 * but for the endpoint's URL and secret. These are known from the last claim, as long as the endpoint's revision is the same.
 * On a quiet system this saves a third of the time from the event to the receiver.
 */
export interface Hinted {
  /** Remembers the endpoints of claimed deliveries. */
  learn(deliveries: readonly ClaimedDelivery[]): void;
  /** The delivery, as a claim would return it; undefined where it needs one: it is late, or its endpoint is not known as it is now. */
  read(endpoint: Endpoint, delivery: HintedDelivery): ReadyDelivery | undefined;
  /** Makes a delivery that was not attempted due for claims. Never rejects: without this, it is due when the hint's lease ends. */
  giveBack(deliveryId: string): Promise<void>;
  /** Has the lease of a hinted delivery last as long as its attempt. */
  held(deliver: Deliver): Deliver;
}

/** Of its lease, a delivery needs this much when its attempt begins: else there is no time to prolong it. */
const NEEDED_MS = 1_000;

/** Most attempts are settled by then, and need no longer lease. */
const HOLD_AFTER_MS = 200;

/** Nobody waits for it, but it must be there long before the lease ends. */
const GATHER = { items: 50, forMs: 25 };

const MAX_BATCH = 500;

const MAX_ENDPOINTS = 10_000;

/** @param options.leaseMs how long a lease lasts once it is prolonged, as that of a claim */
export function createHinted({ queries, clock, log, signal }: Parts, { leaseMs }: { leaseMs: number }): Hinted {
  /** In the order in which they were last claimed for. */
  const endpoints = new Map<string, Pick<ClaimedDelivery, "revision" | "url" | "sealedSecret">>();
  const leasedUntil = () => new Date(clock.now().getTime() + leaseMs);
  const hold = mover(() => ({ dueAt: leasedUntil(), held: true }), GATHER);
  const giveBack = mover(() => ({ dueAt: clock.now(), held: false }));

  function mover(to: () => { dueAt: Date; held: boolean }, gather?: typeof GATHER): (id: string) => Promise<void> {
    const move = batcher<string, void>(
      async (ids) => {
        await retry(() => moveHinted(queries, ids, to()), {
          shouldRetry: (error) => !isDataError(error),
          onFirstFailure: (error) =>
            log.warn("leases of hinted deliveries can't be changed; it is tried again", { error }),
          signal,
        });
        return ids.map(() => undefined);
      },
      { maxItems: MAX_BATCH, maxRunning: 1, ...(gather && { gather }) },
    );
    return (deliveryId) =>
      move(deliveryId).catch((error) =>
        log.warn("a hinted delivery's lease ends before its time", { deliveryId, error }),
      );
  }

  return {
    learn(deliveries) {
      for (const { endpointId, revision, url, sealedSecret } of deliveries) {
        endpoints.delete(endpointId);
        endpoints.set(endpointId, { revision, url, sealedSecret });
        if (endpoints.size > MAX_ENDPOINTS) endpoints.delete(endpoints.keys().next().value as string);
      }
    },
    read({ endpointId, organizationId }, { revision, createdAtUtc, leasedUntilUtc, ...delivery }) {
      const endpoint = endpoints.get(endpointId);
      if (endpoint === undefined || String(endpoint.revision) !== revision) return undefined;
      if (!(Date.parse(leasedUntilUtc) - clock.now().getTime() >= NEEDED_MS)) return undefined;
      return {
        ...delivery,
        ...endpoint,
        // Its secret was opened for an earlier delivery.
        quarantined: false,
        // The endpoint had this revision when the delivery was stored.
        configuredAt: new Date(createdAtUtc),
        endpointId,
        organizationId,
        attempt: 1,
        interruptions: 0,
        bodyBytes: Buffer.byteLength(delivery.body),
        eventKey: null,
        failures: 0,
        pausedUntil: null,
        createdAt: new Date(createdAtUtc),
        claimId: delivery.deliveryId,
        leasedUntil: leasedUntil(),
      };
    },
    giveBack,
    held: (deliver) => async (delivery, onEnd) => {
      if (delivery.claimId !== delivery.deliveryId) return await deliver(delivery, onEnd);
      const holding = setTimeout(() => void hold(delivery.deliveryId), HOLD_AFTER_MS);
      await deliver(delivery, onEnd).finally(() => clearTimeout(holding));
    },
  };
}
