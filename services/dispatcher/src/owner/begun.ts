import type { Delivery } from "../sql/describe-deliveries.ts";
import type { Configuration } from "../sql/read-configuration.ts";
import type { OwnedEndpoint } from "./endpoint.ts";

/** An attempt that has begun, as the owner hands it to whoever makes it. */
export interface Begun {
  endpoint: OwnedEndpoint;
  delivery: Delivery;
  manual: boolean;
  /** Whether it waited for its own receiver, or for its admin: how late it is says nothing of Herald. */
  waitedForReceiver: boolean;
  /**
   * How the endpoint is configured now; undefined where it is disabled or deleted. No attempt begins with what was read longer ago than
   * {@link CONFIGURATION_MS}: a delivery may have waited meanwhile, or PostgreSQL's answer took long.
   */
  configuration(): Promise<Configuration | undefined> | Configuration;
  /** The receiver is free for the next one. To be called before the result is settled. */
  over(durationMs?: number): void;
}

export const CONFIGURATION_MS = 500;

/** How an attempt that was begun went on. */
export type Served =
  /** Settled, or given up by the settlement: `nextAttemptAt` where it is to be tried again. */
  | { kind: "settled"; nextAttemptAt: Date | null }
  /** Nothing was sent, or nothing that counts: it is to be attempted again. */
  | { kind: "put back"; restMs: number }
  /** Nothing was sent: whether its endpoint gets it at all, PostgreSQL says in a moment. */
  | { kind: "unsure" }
  /** The endpoint is disabled or deleted, or another dispatcher owns it. */
  | { kind: "not ours" }
  /** Its result, or its body, is not to be had: PostgreSQL has it, for later. */
  | { kind: "left" };
