import type { DeliveryListItem, DeliveryState, Outcome, WebhookDeliverySummary } from "@herald/contracts";
import { formats } from "../formats.ts";

/** Whether nothing more happens to a delivery. */
export function hasEnded(state: DeliveryState): state is Exclude<DeliveryState, "pending" | "parked"> {
  return state !== "pending" && state !== "parked";
}

/** What has become of a delivery so far. */
export function outcomeOf({ state, attemptCount }: Pick<DeliveryListItem, "state" | "attemptCount">): Outcome {
  if (hasEnded(state)) return state;
  return attemptCount > 0 ? "failing" : "waiting";
}

/** The same of a summary, which doesn't tell a delivery's state. `limit`: attempts that a delivery gets. */
export function outcomeOfSummary(delivery: WebhookDeliverySummary, limit: number): Outcome {
  if (delivery.succeeded) return "succeeded";
  if (delivery.attemptCount === 0 || delivery.statusCode === null) return "waiting";
  return delivery.attemptCount >= limit ? "exhausted" : "failing";
}

export const outcomeWords: Record<Outcome, string> = {
  succeeded: "Succeeded",
  waiting: "Waiting",
  failing: "Failing",
  exhausted: "Exhausted",
  expired: "Expired",
};

/** What an outcome means, for a filter's hint and the drawer, which says more of one that expired. */
export const outcomeMeaning: Record<Outcome, string> = {
  succeeded: "An attempt got a 2xx response.",
  waiting: "No attempt has been made yet.",
  failing: "The latest attempt failed; another one follows.",
  exhausted: "Every attempt failed; none follows.",
  expired: "It was still unfinished when it was too old to be kept, so Herald ended it.",
};

/** Why a delivery expired. */
export function expiredWords(retentionDays: number): string {
  return `It was still unfinished after ${retentionDays === 1 ? "a day" : `${formats.number(retentionDays)} days`}, for which Herald keeps deliveries, so Herald ended it.`;
}

/**
 * What there is to say beside a status code: the error summary without the code that it may repeat. Network failures are
 * recorded as 503 (SPEC 2.2), and only their summary tells them from a receiver that answered 503.
 */
export function besideStatus(statusCode: number | null, errorSummary: string | null): string {
  if (errorSummary === null) return "";
  const repeated = `receiver answered ${statusCode}`;
  if (!errorSummary.startsWith(repeated)) return errorSummary;
  return errorSummary.slice(repeated.length).replace(/^[,:;]?\s*/, "");
}
