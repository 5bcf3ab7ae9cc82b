import type { NoDeliveryReason } from "@herald/contracts";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { eventKey, firstIdAt } from "../database/ids.ts";
import { percentileMs } from "./durations.ts";
import { entityTypeOf } from "./summary.ts";
import { cutPart, timeOfPart, whyNoDelivery } from "./why-no-delivery.ts";

const DAY_MS = 24 * 60 * 60_000;
const NOW = new Date("2026-03-10T12:00:00.000Z");
const daysAgo = (days: number, ms = 0) => new Date(NOW.getTime() - days * DAY_MS + ms);
type Facts = Parameters<typeof whyNoDelivery>;
const why = (event: Partial<Facts[0]>, endpoint: Partial<Facts[1]>) =>
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

/** The first of several reasons holds: for each combination of a reason with all behind it. */
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

const START = Date.parse("2026-03-01T12:00:00.000Z");
const at = (ms: number) => new Date(START + ms);
const rowsAt = (times: readonly number[]) =>
  [...times].sort((one, other) => other - one).map((ms) => ({ cameAt: at(ms) }));

describe("the time of a part", () => {
  test("a list without ends has none", () => {
    expect(timeOfPart({ next: null, before: null })).toEqual({ from: null, to: null });
  });

  test("what came in the millisecond of a key is behind the key; at the first key of one, before it", () => {
    const key = eventKey("acme", "00000000-0000-4000-8000-000000000001", at(7));
    expect(timeOfPart({ next: key, before: null })).toEqual({ from: at(8), to: null });
    expect(timeOfPart({ next: null, before: key })).toEqual({ from: null, to: at(8) });
    expect(timeOfPart({ next: firstIdAt(at(7)), before: firstIdAt(at(9)) })).toEqual({ from: at(7), to: at(9) });
  });
});

describe("the room of a part", () => {
  test("few rows have room", () => {
    expect(cutPart(rowsAt([1, 2]), 2)).toEqual({ rows: rowsAt([1, 2]), next: null });
  });

  test("parts end, and hold each row once, but for those of one millisecond that has more than there is room for", () => {
    const room = 4;
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 12 }), { maxLength: 40 }), (times) => {
        const all = rowsAt(times);
        const seen: { cameAt: Date }[] = [];
        let before: string | null = null;
        do {
          const { to } = timeOfPart({ next: null, before });
          const rest = all.filter(({ cameAt }) => to === null || cameAt < to);
          const { rows, next } = cutPart(rest.slice(0, room + 1), room);
          seen.push(...rows);
          if (before !== null && next !== null && next >= before) throw new Error("The cursor did not move on.");
          before = next;
        } while (before !== null);
        const most = (time: number) => Math.min(room, times.filter((each) => each === time).length);
        const expected = [...new Set(times)].flatMap((time) => Array.from({ length: most(time) }, () => time));
        expect(seen).toEqual(rowsAt(expected));
      }),
    );
  });
});

const body = (entityType: string, data: object = {}) =>
  JSON.stringify({
    id: "i",
    type: "RiskCreated",
    occurredAtUtc: "2026-03-01T12:00:00Z",
    entityType,
    entityId: "e",
    data,
  });

test("the kind of entity is read from the beginning of a body, whatever its characters are", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 128 }), fc.jsonValue(), (entityType, data) => {
      expect(entityTypeOf(body(entityType, { data }).slice(0, 1_024))).toBe(entityType);
    }),
  );
});

test("a body without one, and data that has such a field, name no kind of entity", () => {
  expect(entityTypeOf("{}")).toBeNull();
  expect(entityTypeOf('{"id":"i","data":{"entityType":"Risk"}}')).toBeNull();
  expect(entityTypeOf(body("Risk").slice(0, 20))).toBeNull();
});

test.each([
  ["none", [], 0.5, null],
  ["all in one class, in its middle", [10], 0.5, 25],
  ["at the end of a class", [5, 5], 0.5, 50],
  ["in the class after it", [5, 5], 0.95, 95],
  ["with empty classes between", [1, 0, 0, 3], 0.5, 333],
  ["in the last class", [0, 0, 0, 0, 0, 0, 0, 4], 1, 15_000],
])("a percentile of counted durations: %s", (_, counts, share, expected) => {
  expect(percentileMs(counts, share)).toBe(expected);
});
