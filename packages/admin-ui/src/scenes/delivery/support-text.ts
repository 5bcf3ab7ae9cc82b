import type { DeliveryDetails } from "@herald/contracts";
import { exact } from "../../common/time/words.ts";

/** What a support request carries (SPEC 7), and nothing that must not be shared. */
export function supportText(webhookName: string, delivery: DeliveryDetails): string {
  const latest = delivery.attempts.at(-1);
  return [
    `Webhook: ${webhookName}`,
    `Attempt: ${latest ? `${latest.number}, ${exact(latest.attemptedAtUtc)}` : "none yet"}`,
    `Delivery id: ${delivery.id}`,
    `Event: ${delivery.eventType}`,
    `Result: ${latest ? [latest.statusCode, latest.errorSummary].filter((part) => part !== null).join(" ") : "none yet"}`,
  ].join("\n");
}
