import {
  type DeliveryListItem,
  type EndpointOverview,
  OUTCOMES,
  type Outcome,
  type WebhookDeliverySummary,
} from "@herald/contracts";
import { countdown, formats } from "../formats.ts";

export function hasEnded(outcome: Outcome): boolean {
  return outcome === "succeeded" || outcome === "exhausted" || outcome === "expired";
}

/** The outcome of a webhook's latest delivery, whose summary doesn't tell it. `limit`: attempts that a delivery gets. */
export function outcomeOfSummary(delivery: WebhookDeliverySummary, limit: number, enabled: boolean): Outcome {
  if (delivery.succeeded) return "succeeded";
  if (delivery.attemptCount >= limit) return "exhausted";
  if (!enabled) return "parked";
  return delivery.attemptCount === 0 ? "waiting" : "failing";
}

/** Outcomes in the words of a support desk. API, rows and the command have names of their own. */
export const outcomeWords: Record<Outcome, string> = {
  waiting: "Waiting",
  failing: "Failing",
  parked: "On hold",
  succeeded: "Succeeded",
  exhausted: "Given up",
  expired: "Too old",
};

/** What was given up or too old, and not sent again: the name of its part of a webhook's page. */
export const MISSED = "Missed";

/** Whether a delivery waits after a failure, since its webhook is disabled. It stays as red as the failure. */
export function heldAfterFailure(outcome: Outcome, attemptCount: number): boolean {
  return outcome === "parked" && attemptCount > 0;
}

/** The meaning of an outcome, for a filter's hint and the drawer, which says more of an expired one. */
export const meaningOf = (outcome: Outcome) => OUTCOMES[outcome].replaceAll("endpoint", "webhook");

export function expiredWords(retentionDays: number): string {
  return `It was still unfinished after ${retentionDays === 1 ? "a day" : `${formats.number(retentionDays)} days`}, for which Herald keeps deliveries, so Herald ended it.`;
}

/**
 * The words beside a status code: the error summary without the code that it may repeat. Network failures are
 * recorded as 503 (SPEC 2.2), and only their summary tells them from a receiver that answered 503.
 */
export function besideStatus(statusCode: number | null, errorSummary: string | null): string {
  if (errorSummary === null) return "";
  const repeated = `receiver answered ${statusCode}`;
  if (!errorSummary.startsWith(repeated)) return errorSummary;
  return errorSummary.slice(repeated.length).replace(/^[,:;]?\s*/, "");
}

export type EndpointStatus = "active" | "failing" | "paused" | "disabled" | "quarantined";

type Judged = Pick<EndpointOverview, "enabled" | "disabledReason" | "consecutiveFailures" | "quarantinedAtUtc">;

/** The broken ones in the order of the list. The others follow by name: a pause moves no row. */
const BROKEN: readonly EndpointStatus[] = ["disabled", "quarantined", "failing"];

export function needOf(webhook: Judged): number {
  const need = BROKEN.indexOf(endpointStatus(webhook));
  return need < 0 ? BROKEN.length : need;
}

/**
 * Herald disabled a `disabled` webhook, and an admin a `paused` one. A `failing` one is active, with failures since its last success. A
 * `quarantined` one is active too, and Herald can't open its signing secret.
 */
export function endpointStatus(webhook: Judged): EndpointStatus {
  if (!webhook.enabled) return webhook.disabledReason === "failures" ? "disabled" : "paused";
  if (webhook.quarantinedAtUtc !== null) return "quarantined";
  return webhook.consecutiveFailures > 0 ? "failing" : "active";
}

const numbers = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/** A count as a word if it has a short one: "five", "12". */
export function inWords(count: number): string {
  return numbers[count] ?? String(count);
}

/** The status as the page says it. `limit`: failures in a row that disable a webhook (5 unless set otherwise). */
export function statusWords(status: EndpointStatus, limit: number): string {
  return {
    active: "Active",
    failing: "Active, failing",
    quarantined: "Active, but waiting",
    paused: "Paused",
    disabled: `Disabled after ${inWords(limit)} failures`,
  }[status];
}

type Tried = Pick<EndpointOverview, "nextTryAtUtc" | "outageSinceUtc" | "stoppedSinceUtc">;

/** When a failing webhook is tried again. Null if nothing waits for it, and while Herald's own network, or its operator, keeps it from trying. */
export function nextTryOf({ nextTryAtUtc, outageSinceUtc, stoppedSinceUtc }: Tried): string | null {
  return outageSinceUtc === null && stoppedSinceUtc === null ? nextTryAtUtc : null;
}

/** The same in words: "next try in 4 s", "next try in 1:05"; "trying again" once that time has come, and while an attempt is under way. */
export function nextTryWords(webhook: Tried, nowMs: number): string | null {
  const nextTryAtUtc = nextTryOf(webhook);
  if (nextTryAtUtc === null) return null;
  const tryMs = Date.parse(nextTryAtUtc);
  return tryMs <= nowMs ? "trying again" : `next try ${countdown(tryMs, nowMs)}`;
}

type Awaited = Pick<DeliveryListItem, "outcome" | "inFlight" | "nextAttemptAtUtc">;

/** Null if no attempt follows. A failing webhook is tried by one delivery at a time: the others that are due wait for its `nextTry`. */
export function nextAttemptWords(delivery: Awaited, nextTry: string | null, nowMs: number): string | null {
  const { outcome, inFlight, nextAttemptAtUtc } = delivery;
  if (outcome === "parked") return "after a resume";
  if (!inFlight && nextAttemptAtUtc === null) return null;
  const dueMs = inFlight ? nowMs : Date.parse(nextAttemptAtUtc ?? "");
  const tryMs = Date.parse(nextTry ?? "");
  return tryMs > Math.max(dueMs, nowMs) ? `after the next try, ${countdown(tryMs, nowMs)}` : countdown(dueMs, nowMs);
}
