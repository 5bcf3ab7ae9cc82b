import { ARRIVAL } from "@herald/common/broker/arrival";
import type { Log } from "@herald/common/telemetry/log";
import type { Attempts } from "../attempt/attempt-delivery.ts";
import { isEndpointsFailure } from "../settle/health.ts";
import type { Body, Delivery } from "../sql/describe-deliveries.ts";
import type { Configuration } from "../sql/read-configuration.ts";
import type { Settlement } from "../sql/settle.ts";
import type { OwnedEndpoint } from "./endpoint.ts";
import type { Quarantine } from "./quarantine.ts";

/** An attempt that has begun, as the owner hands it over. */
export interface Begun {
  endpoint: OwnedEndpoint;
  delivery: Delivery;
  manual: boolean;
  /** Whether it waited for its own receiver, or for its admin: its delay says nothing about Herald. */
  waitedForReceiver: boolean;
  /**
   * Returns the endpoint's current configuration; undefined if it is disabled or deleted. No attempt begins with a configuration that was read more
   * than half a second ago: a delivery may have waited meanwhile, or PostgreSQL's answer took long.
   */
  configuration(): Promise<Configuration | undefined> | Configuration;
  /** The receiver is free for the next attempt. Must be called before the result is settled. */
  over(durationMs?: number): void;
}

/** How an attempt went that had begun. */
export type Served =
  /** Settled, or given up by the settlement: `nextAttemptAt` if it is to be tried again. */
  | { kind: "settled"; nextAttemptAt: Date | null }
  /** Nothing was sent, or nothing that counts: it must be attempted again. */
  | { kind: "put back"; restMs: number }
  /** Nothing was sent: PostgreSQL decides in a moment whether its endpoint gets it at all. */
  | { kind: "unsure" }
  /** The endpoint is disabled or deleted, or another dispatcher owns it. */
  | { kind: "not ours" }
  /** Its result can't be stored, or it has no body. If PostgreSQL has its row after this time, it is read again. */
  | { kind: "left"; forMs: number };

interface Parts {
  attempts: Attempts;
  log: Log;
  quarantine: Pick<Quarantine, "begin" | "end">;
  epochOf: (shard: number) => number | undefined;
  mayBegin: () => boolean;
  readBody: (delivery: Delivery) => Promise<Buffer | undefined>;
  /** Rejects if a settlement can't be written. */
  settle: (settlement: Settlement, endsFailures: boolean) => Promise<void>;
}

/** The pause before a delivery is attempted again whose attempt could not be written down. */
const UNSETTLED_MS = 60_000;
/** The pause before a delivery is attempted again whose attempt ended in Herald's own network. */
const OUTAGE_MS = 1_000;

/** Makes an attempt that its owner has begun: reads its body and the endpoint's current configuration, sends, and settles it. Never rejects. */
export function createServe(parts: Parts): (begun: Begun) => Promise<Served> {
  const { attempts, log, quarantine, epochOf, mayBegin, readBody, settle } = parts;

  async function serve(begun: Begun): Promise<Served> {
    const { endpoint, delivery, manual, waitedForReceiver, over } = begun;
    const isHealthKnown = endpoint.breaker !== undefined;
    const body: Body | undefined = delivery.body ?? (await readBody(delivery));
    if (body === undefined) {
      const { deliveryId, endpointId } = delivery;
      log.info("a delivery has no body: it was erased, or its event is not stored yet", { deliveryId, endpointId });
      // A retry after a short delay may come before its event is stored.
      return { kind: "left", forMs: ARRIVAL.unstoredMs };
    }
    const configuration = await begun.configuration();
    if (configuration === undefined) return { kind: "not ours" };
    const { arrived } = delivery;
    if (arrived && arrived.revision !== String(configuration.revision)) return { kind: "unsure" };
    const epoch = epochOf(endpoint.shard);
    // While it waited for its configuration, its shard may have been lost, and be owned again: then the owner between has attempted it.
    if (epoch === undefined || endpoint.isGone || !mayBegin()) return { kind: "put back", restMs: 0 };
    // The health of an endpoint that is new in memory is read only now.
    if (!isHealthKnown && !manual) {
      if (endpoint.breaker?.limit() === 0) return { kind: "put back", restMs: 0 };
      endpoint.breaker?.begin();
    }
    const plan = { delivery, body, configuration, epoch, manual, waitedForReceiver };
    const outcome = await attempts.attempt(plan);
    if (outcome.kind === "outage") {
      over();
      return { kind: "put back", restMs: OUTAGE_MS };
    }
    if (outcome.kind === "no secret") {
      const { id: endpointId, organizationId } = endpoint;
      const fields = { endpointId, organizationId, error: outcome.error };
      log.error("an endpoint's signing secret can't be opened, so nothing is sent to it", fields);
      // The whole endpoint, since else each delivery of its backlog would be tried.
      quarantine.begin(endpointId);
      return { kind: "put back", restMs: 0 };
    }
    if (configuration.quarantined) {
      configuration.quarantined = false;
      quarantine.end(endpoint.id);
    }
    const { result, settlement } = outcome;
    // Before the receiver is free for the next attempt, which may have to wait.
    const endsFailures = result.succeeded && (endpoint.breaker?.isFailing() ?? false);
    if (result.succeeded) endpoint.breaker?.succeeded();
    else if (isEndpointsFailure(result.failureKind)) endpoint.breaker?.failed({ ...result, manual });
    over(result.durationMs);
    await settle(settlement, endsFailures);
    attempts.record(plan, result);
    return { kind: "settled", nextAttemptAt: settlement.nextAttemptAt };
  }

  return async (begun) => {
    try {
      return await serve(begun);
    } catch (error) {
      const { deliveryId, endpointId, attempts } = begun.delivery;
      const fields = { deliveryId, endpointId, attempt: attempts + 1, error };
      log.error("an attempt could not be settled; its delivery comes again in a minute", fields);
      return { kind: "left", forMs: UNSETTLED_MS };
    }
  };
}
