import type { KeyPair } from "@herald/dev/certificates/authority";
import type { AdminEndpoint } from "./environment/admin.ts";
import type { EmitterRequest } from "./environment/emitter-process.ts";
import type { ReceiverRequest } from "./environment/receiver-process.ts";

type Meanwhile = () => Promise<void>;

export type LoadFaults = ReturnType<typeof loadFaults>;

/** The load of a run, as a disturbance may steer it. */
export interface Load extends LoadFaults {
  /** Emits no more, and resolves when each event that was confirmed has been delivered. */
  settle(): Promise<void>;
  /** Emits every event once more, as it was; resolves when all are confirmed. */
  emitAgain(): Promise<void>;
}

export interface Asked {
  receivers<T>(request: ReceiverRequest): Promise<T>;
  emitter<T>(request: EmitterRequest): Promise<T>;
}

/** Faults of those who emit and receive, which are no part of Herald. Most last until `meanwhile` has ended. */
export function loadFaults(ask: Asked, endpoints: readonly AdminEndpoint[]) {
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
  /** Lets no connection to a receiver be used twice. */
  const forgetConnections = (meanwhile: Meanwhile) =>
    between({ type: "forget", forgets: true }, { type: "forget", forgets: false }, meanwhile);
  return {
    /** Emits `count` events at once of the first organization, each with a further text of `textBytes`. */
    burst: (count: number, textBytes: number) => ask.emitter<void>({ type: "burst", count, textBytes }),
    /** Lets one of the receivers that restart refuse connections, by turns; resolves with its endpoint's id. */
    async restartReceiver(nth: number, meanwhile: Meanwhile): Promise<string | undefined> {
      const restarting = endpoints.filter(({ character }) => character === "restarting");
      const endpoint = restarting[nth % restarting.length];
      if (endpoint) await refuse(endpoint.number, meanwhile);
      return endpoint?.id;
    },
    refuseEverywhere: (meanwhile: Meanwhile) => refuse("all", meanwhile),
    forgetConnections,
    /** Gives each receiver a new certificate, and lets no connection be used twice. */
    async renewCertificates({ cert, key }: KeyPair, meanwhile: Meanwhile) {
      await ask.receivers({ type: "renew", cert, key });
      await forgetConnections(meanwhile);
    },
    slowCrowd: (meanwhile: Meanwhile) =>
      between({ type: "slow", isSlow: true }, { type: "slow", isSlow: false }, meanwhile),
  };
}
