import { NO_DELIVERY_REASONS, type NoDeliveryReason } from "@herald/contracts";

const SHORT: Record<NoDeliveryReason, string> = {
  created_later: "Created later",
  not_subscribed: "Not subscribed",
  older_than_window: "Too old",
  disabled: "Not active",
  not_yet: "On its way",
};

/** Why a webhook has no delivery: in a word or two, and in the sentence of the API, which calls a webhook an endpoint. */
export function reasonWords(reason: NoDeliveryReason): { short: string; sentence: string } {
  return { short: SHORT[reason], sentence: NO_DELIVERY_REASONS[reason].replaceAll("endpoint", "webhook") };
}
