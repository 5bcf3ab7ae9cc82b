import type { DeliveryListItem, Outcome, WebhookDeliverySummary } from "@herald/contracts";

/** What has become of a delivery so far. */
export function outcomeOf({ state, attemptCount }: Pick<DeliveryListItem, "state" | "attemptCount">): Outcome {
  if (state === "succeeded" || state === "exhausted") return state;
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
};

/** What an outcome means, for a filter's hint and the drawer. */
export const outcomeMeaning: Record<Outcome, string> = {
  succeeded: "An attempt got a 2xx response.",
  waiting: "No attempt has been made yet.",
  failing: "The latest attempt failed; another one follows.",
  exhausted: "Every attempt failed; none follows.",
};
