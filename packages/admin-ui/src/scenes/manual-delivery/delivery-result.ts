import type { WebhookDeliverySummary } from "@herald/contracts";
import { besideStatus } from "../../common/display/delivery-outcome.ts";
import type { Tone } from "../../common/feedback/Notice.tsx";

export interface DeliveryResult {
  tone: Tone;
  title: string;
  text: string;
}

/** What the API's answer to a manual delivery means, and no more than it means (SPEC 4.1.3: a 200 can be a failed delivery). */
export function resultWords(summary: WebhookDeliverySummary, maxAttempts: number): DeliveryResult {
  const { attemptCount, succeeded, statusCode, errorSummary } = summary;
  if (attemptCount === 0 || statusCode === null) {
    return {
      tone: "care",
      title: "Queued, not attempted yet.",
      text: "The delivery is stored, and its first attempt follows. Whether the receiver takes it is not known yet.",
    };
  }
  if (succeeded) {
    return {
      tone: "good",
      title: `Succeeded: the receiver answered ${statusCode}.`,
      text: attemptCount === 1 ? "At the first attempt." : `At attempt ${attemptCount}.`,
    };
  }
  const why = [statusCode, besideStatus(statusCode, errorSummary)].filter(Boolean).join(", ");
  return {
    tone: "bad",
    title: `Attempt ${attemptCount} failed: ${why}.`,
    text:
      attemptCount >= maxAttempts
        ? "That was the last attempt."
        : "It is retried like any other delivery, while the webhook is active.",
  };
}
