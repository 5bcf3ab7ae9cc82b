import type { EndpointOverview } from "@herald/contracts";

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
