import type { FailureKind } from "@herald/contracts";

/** The part of Herald's own that failed, if that is certain: the receiver has no part in it. */
export type OwnFault = "machine" | "name servers";

/** How the receiver's clock, or its certificate, shows Herald's time to be. */
export type ClockShown = "ahead" | "behind" | "right";

export interface AttemptResult {
  startedAt: Date;
  /** Until the response's headers were there, or until no response was possible; by the same clock. */
  durationMs: number;
  /** The receiver's answer; 503 if there was none (SPEC 2.2). */
  statusCode: number;
  /** True for any 2xx (SPEC 4.2). */
  succeeded: boolean;
  /** A few plain words for the admin; null on success. */
  errorSummary: string | null;
  /** The same for programs. */
  failureKind: FailureKind | null;
  /** The first 1 KiB of the response's body as text; null if there was no body, or if it was compressed. */
  responseExcerpt: string | null;
  /** How long the receiver asked to be left alone (`Retry-After` of 413, 429 and 5xx); null if it did not. */
  retryAfterMs: number | null;
  /** False if nothing shows that the receiver was reached: no name, no connection, or no byte of an answer over an old one. */
  reached: boolean;
  ownFault?: OwnFault | undefined;
  /** How Herald's time is by the receiver: by its certificate's dates if they are why it failed, by its `Date` if it answered 4xx. */
  clockShown?: ClockShown | undefined;
}

export type StoredHealth = { failures: number; pausedUntil: Date | null };

export interface StoredRun {
  /** The attempts of the run of failures since the last success, oldest first, each as "<delivery id>/<attempt number>". */
  failureRun: readonly string[];
  /** When the last attempt of that run ended; null without a run. */
  failedAt: Date | null;
  /** Until when the endpoint rests between two attempts; null without a run. */
  pausedUntil: Date | null;
  /** Whether this run had a notice that the endpoint is failing; false without a run. */
  failingTold: boolean;
  /** When the attempt ended that caused the last notice that the endpoint is failing, in this run or one before; null without a notice. */
  failingToldAt: Date | null;
}

/** An endpoint's health, as far as results change it. */
export type Health = StoredRun & { revision: bigint; enabled: boolean };

/** The changes by some results, to be written at once. */
export interface HealthStep extends StoredRun {
  /** The number of results in it; further ones make the next step, once this one is written. */
  used: number;
  changed: boolean;
  disabled: boolean;
  notice: "endpoint.failing" | "endpoint.disabled" | "endpoint.recovered" | null;
  /** The run of failures behind the notice; for a recovery, the run that it ends. Empty without a notice. */
  noticeRun: readonly string[];
}
