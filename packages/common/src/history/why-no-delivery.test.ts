import type { NoDeliveryReason } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { type EndpointFacts, type EventFacts, whyNoDelivery } from "./why-no-delivery.ts";

const DAY_MS = 24 * 60 * 60_000;
const NOW = new Date("2026-03-10T12:00:00.000Z");
const daysAgo = (days: number, ms = 0) => new Date(NOW.getTime() - days * DAY_MS + ms);
const why = (event: Partial<EventFacts>, endpoint: Partial<EndpointFacts>) =>
  whyNoDelivery(
    { type: "WorkItemCompleted", occurredAt: daysAgo(1), ...event },
    { events: ["RiskCreated", "WorkItemCompleted"], createdAt: daysAgo(30), isEnabled: true, ...endpoint },
    { now: NOW, windowMs: 7 * DAY_MS },
  );

test("§6.1/creation an event that occurred before the endpoint was created never comes", () => {
  const occurredAt = daysAgo(1);
  expect(why({ occurredAt }, { createdAt: new Date(occurredAt.getTime() + 1) })).toBe("created_later");
  expect(why({ occurredAt }, { createdAt: occurredAt })).toBe("not_yet");
});

test("an event of a type that the endpoint doesn't list is not for it", () => {
  expect(why({ type: "TimesheetApproved" }, {})).toBe("not_subscribed");
  expect(why({}, { events: [] })).toBe("not_subscribed");
});

test("§6.1/window an event that has left the window comes no more", () => {
  expect(why({ occurredAt: daysAgo(7, -1) }, {})).toBe("older_than_window");
  expect(why({ occurredAt: daysAgo(7) }, {})).toBe("not_yet");
});

test("§3.1/pause an event of the window waits for the resume of a disabled endpoint", () => {
  expect(why({}, { isEnabled: false })).toBe("disabled");
  expect(why({ occurredAt: daysAgo(7) }, { isEnabled: false })).toBe("disabled");
});

test("an event that nothing keeps from the endpoint is about to be delivered, one of a clock that is ahead too", () => {
  expect(why({}, {})).toBe("not_yet");
  expect(why({ occurredAt: daysAgo(0, 60_000) }, {})).toBe("not_yet");
});

/** Of several reasons the first one holds: for each combination of a reason with all behind it. */
const PRECEDENCE: [later: boolean, unsubscribed: boolean, old: boolean, disabled: boolean, reason: NoDeliveryReason][] =
  [
    [true, true, true, true, "created_later"],
    [false, true, true, true, "not_subscribed"],
    [false, false, true, true, "older_than_window"],
    [false, false, false, true, "disabled"],
    [false, false, false, false, "not_yet"],
  ];

test.each(PRECEDENCE)(
  "created later %s, not subscribed %s, too old %s, disabled %s, and the reason is %s",
  (later, unsubscribed, old, disabled, reason) => {
    const occurredAt = daysAgo(old ? 8 : 1);
    const createdAt = new Date(occurredAt.getTime() + (later ? 1 : -1));
    const events = unsubscribed ? ["RiskCreated"] : ["WorkItemCompleted"];
    expect(why({ occurredAt }, { createdAt, events, isEnabled: !disabled })).toBe(reason);
  },
);
