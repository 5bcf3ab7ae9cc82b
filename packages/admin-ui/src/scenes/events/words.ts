import {
  type EventListItem,
  type EventPage,
  NO_DELIVERY_REASONS,
  type NoDeliveryReason,
  type Outcome,
  type UndeliveredEvent,
} from "@herald/contracts";

export type EventRow = { key: string; at: string } & (
  | { taken: EventListItem; notTaken: undefined }
  | { taken: undefined; notTaken: UndeliveredEvent }
);

export function eventRows(pages: readonly EventPage[]): EventRow[] {
  const taken = pages.flatMap(({ events }) =>
    events.map((event): EventRow => ({ key: event.key, at: event.occurredAtUtc, taken: event, notTaken: undefined })),
  );
  const others = pages.flatMap(({ undelivered }) =>
    undelivered.map(
      (event): EventRow => ({
        key: `${event.id} ${event.cause}`,
        at: event.cameAtUtc,
        taken: undefined,
        notTaken: event,
      }),
    ),
  );
  // Sorting keeps the API's order of equal times.
  return [...taken, ...others].sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
}

/** `attempts`: the most of one of them. */
export function fates({ endpoints }: EventListItem): { outcome: Outcome; count: number; attempts: number }[] {
  const deliveries = endpoints.flatMap(({ delivery }) => delivery ?? []);
  return [...Map.groupBy(deliveries, ({ outcome }) => outcome)].map(([outcome, group]) => ({
    ...{ outcome, count: group.length, attempts: Math.max(...group.map(({ attemptCount }) => attemptCount)) },
  }));
}

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
