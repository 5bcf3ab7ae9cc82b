import type { KeyPair } from "@herald/dev/certificates/authority";
import type { AdminEndpoint } from "./environment/admin.ts";
import type { EmitterRequest } from "./environment/emitter-process.ts";
import type { ReceiverRequest } from "./environment/receiver-process.ts";

type Meanwhile = () => Promise<void>;

/** The load of a run, as a disturbance may steer it. */
export interface Load extends LoadFaults {
  /** Emits no more, and resolves when each event that was confirmed has been delivered. */
  settle(): Promise<void>;
  /** Emits every event once more, as it was; resolves when all are confirmed. */
  emitAgain(): Promise<void>;
}

/** Faults of those who emit and receive, which are no part of Herald. */
export interface LoadFaults {
  /** Emits `count` events at once of the first organization, each with a further text of `textBytes`. */
  burst(count: number, textBytes: number): Promise<void>;
  /** Lets one of the receivers that restart refuse connections until `meanwhile` has ended, by turns; resolves with its endpoint's id. */
  restartReceiver(nth: number, meanwhile: Meanwhile): Promise<string | undefined>;
  /** Lets every receiver refuse connections until then. */
  refuseEverywhere(meanwhile: Meanwhile): Promise<void>;
  /** Lets no connection to a receiver be used twice until then. */
  forgetConnections(meanwhile: Meanwhile): Promise<void>;
  /** Gives each receiver a new certificate, and lets no connection be used twice until then. */
  renewCertificates(certificate: KeyPair, meanwhile: Meanwhile): Promise<void>;
  /** Lets the crowd answer slowly until then. */
  slowCrowd(meanwhile: Meanwhile): Promise<void>;
}

export interface Asked {
  receivers<T>(request: ReceiverRequest): Promise<T>;
  emitter<T>(request: EmitterRequest): Promise<T>;
}

export function loadFaults(ask: Asked, endpoints: readonly AdminEndpoint[]): LoadFaults {
  async function between(begin: ReceiverRequest, end: ReceiverRequest, meanwhile: Meanwhile): Promise<void> {
    await ask.receivers(begin);
    try {
      await meanwhile();
    } finally {
      await ask.receivers(end);
    }
  }
  const refuse = (receiver: number | "all", meanwhile: Meanwhile) =>
    between({ type: "refuse", receiver, refuses: true }, { type: "refuse", receiver, refuses: false }, meanwhile);
  const forgetConnections = (meanwhile: Meanwhile) =>
    between({ type: "forget", forgets: true }, { type: "forget", forgets: false }, meanwhile);
  return {
    burst: (count, textBytes) => ask.emitter({ type: "burst", count, textBytes }),
    async restartReceiver(nth, meanwhile) {
      const restarting = endpoints.filter(({ character }) => character === "restarting");
      const endpoint = restarting[nth % restarting.length];
      if (endpoint) await refuse(endpoint.number, meanwhile);
      return endpoint?.id;
    },
    refuseEverywhere: (meanwhile) => refuse("all", meanwhile),
    forgetConnections,
    async renewCertificates({ cert, key }, meanwhile) {
      await ask.receivers({ type: "renew", cert, key });
      await forgetConnections(meanwhile);
    },
    slowCrowd: (meanwhile) => between({ type: "slow", isSlow: true }, { type: "slow", isSlow: false }, meanwhile),
  };
}
