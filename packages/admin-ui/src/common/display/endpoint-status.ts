import type { EndpointOverview } from "@herald/contracts";
import { countdown } from "../time/words.ts";

export type EndpointStatus = "active" | "failing" | "paused" | "disabled" | "quarantined";

type Judged = Pick<EndpointOverview, "enabled" | "disabledReason" | "consecutiveFailures" | "quarantinedAtUtc">;

/**
 * A webhook's status. Herald disabled a `disabled` one, an admin a `paused` one; a `failing` one is active, with failures since its last
 * success. A `quarantined` one is active too, and Herald can't open its signing secret.
 */
export function endpointStatus({
  enabled,
  disabledReason,
  consecutiveFailures,
  quarantinedAtUtc,
}: Judged): EndpointStatus {
  if (!enabled) return disabledReason === "failures" ? "disabled" : "paused";
  if (quarantinedAtUtc !== null) return "quarantined";
  return consecutiveFailures > 0 ? "failing" : "active";
}

const numbers = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/** A count as a word where it has a short one: "five", "12". */
export function inWords(count: number): string {
  return numbers[count] ?? String(count);
}

/** The status as the page says it. `limit`: failures in a row that disable a webhook (5 unless set otherwise). */
export function statusWords(status: EndpointStatus, limit: number): string {
  switch (status) {
    case "active":
      return "Active";
    case "failing":
      return "Active, failing";
    case "quarantined":
      return "Active, but waiting";
    case "paused":
      return "Paused";
    case "disabled":
      return `Disabled after ${inWords(limit)} failures`;
  }
}

type Tried = Pick<EndpointOverview, "nextTryAtUtc" | "cutOffSinceUtc" | "heldSinceUtc">;

/**
 * When a failing webhook is tried again: "next try in 4 s", "next try in 1:05"; "trying again" once that time has come, and while
 * an attempt is under way. Null where nothing waits for it, and while Herald's own network, or its operator, keeps it from trying.
 */
export function nextTryWords({ nextTryAtUtc, cutOffSinceUtc, heldSinceUtc }: Tried, nowMs: number): string | null {
  if (nextTryAtUtc === null || cutOffSinceUtc !== null || heldSinceUtc !== null) return null;
  const leftMs = Date.parse(nextTryAtUtc) - nowMs;
  if (leftMs <= 0) return "trying again";
  const seconds = Math.ceil(leftMs / 1_000);
  return `next try ${seconds < 60 ? `in ${seconds} s` : countdown(nowMs + leftMs, nowMs)}`;
}
