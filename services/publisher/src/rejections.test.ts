import { expect, test } from "@jest/globals";
import {
  groupRejections,
  hourly,
  KEPT_OF_ALL,
  KEPT_OF_ORGANIZATION,
  type Rejection,
  rejectionOf,
} from "./rejections.ts";

const ID = "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111";
const message = (value: unknown) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value));

test("a rejection has organization, id and type of its event and the reason, and nothing else of it", () => {
  const event = { organizationId: "acme", id: ID.toUpperCase(), type: "RiskCreated", data: { secret: "payload" } };
  expect(rejectionOf(message(event), "rejected", "/entityId must be a UUID")).toEqual({
    cause: "rejected",
    organizationId: "acme",
    eventId: ID,
    eventType: "RiskCreated",
    reason: "/entityId must be a UUID",
  });
});

test.each([
  ["bytes that are no text", Buffer.from([0xff, 0xfe])],
  ["text that is no JSON", message("{")],
  ["null", message("null")],
  ["a list", message("[]")],
  ["fields that are something else", message({ organizationId: 7, id: "7", type: "" })],
  ["an organization that could not be stored", message({ organizationId: "a\u0000b" })],
])("a rejection of %s has the reason alone", (_what, content) => {
  const unknown = { organizationId: null, eventId: null, eventType: null };
  expect(rejectionOf(content, "in_future", "broken")).toEqual({ ...unknown, cause: "in_future", reason: "broken" });
});

test("a rejection's reason is short, and holds nothing that can't be stored or shown", () => {
  expect(rejectionOf(message("{}"), "rejected", "/data/changes/a\u0000\u001b[2J\u202e\u2028\ud800").reason).toBe(
    "/data/changes/a  [2J  \ufffd",
  );
  expect(rejectionOf(message("{}"), "rejected", "😀".repeat(1_000)).reason.length).toBeLessThan(310);
});

const rejected = (reason: string, override: Partial<Rejection> = {}): Rejection => ({
  cause: "rejected",
  organizationId: "acme",
  eventId: ID,
  eventType: "RiskCreated",
  reason,
  ...override,
});

test("rejections of one organization, type and reason are one group, which counts them and names the first", () => {
  const other = "9a0c9a52-3d51-4f0e-8a35-0d9f7c1be111";
  const groups = groupRejections(
    [
      rejected("a"),
      rejected("a", { eventId: other }),
      rejected("b"),
      rejected("a", { organizationId: "umbrella" }),
      rejected("a", { eventType: null }),
    ],
    20,
  );
  expect(groups).toEqual([
    { ...rejected("a"), events: 2 },
    { ...rejected("b"), events: 1 },
    { ...rejected("a", { organizationId: "umbrella" }), events: 1 },
    { ...rejected("a", { eventType: null }), events: 1 },
  ]);
});

test("rejections that have nothing in common are few groups, and all are counted", () => {
  const flood = Array.from({ length: 500 }, (_, index) => rejected("a", { organizationId: `org-${index}` }));
  const groups = groupRejections([...flood, rejected("a", { organizationId: "org-0" })], 20);
  expect(groups).toHaveLength(21);
  expect(groups[0]).toMatchObject({ organizationId: "org-0", events: 2 });
  expect(groups.at(-1)).toMatchObject({ organizationId: null, eventId: null, events: 480 });
  expect(groupRejections(flood, -1)).toMatchObject([{ organizationId: null, events: 500 }]);
});

const NOW = new Date("2026-06-01T10:59:00.000Z");
const NEXT_HOUR = new Date("2026-06-01T11:00:00.000Z");

const event = (override: Partial<Rejection> = {}) => rejected("no such type", { cause: "unknown_type", ...override });

/** How many of these events are kept. */
function keep(hour: ReturnType<typeof hourly>, events: number, now: Date, organizationOf = (_index: number) => "acme") {
  let kept = 0;
  for (let index = 0; index < events; index++) {
    const each = event({ organizationId: organizationOf(index) });
    if (!hour.mayKeep(each, now)) continue;
    hour.hasKept(each);
    kept++;
  }
  return kept;
}

test("a bounded number of events is kept in an hour, for one organization and for all", () => {
  const hour = hourly();
  expect(keep(hour, 1_000, NOW)).toBe(KEPT_OF_ORGANIZATION);
  expect(hour.mayKeep(event({ organizationId: "other" }), NOW)).toBe(true);
  expect(keep(hour, 20_000, NOW, (index) => `org-${index}`)).toBe(KEPT_OF_ALL - KEPT_OF_ORGANIZATION);
  expect(keep(hour, 1_000, NEXT_HOUR)).toBe(KEPT_OF_ORGANIZATION);
});

test("an event that no search could find is not kept", () => {
  expect(hourly().mayKeep(event({ eventId: null }), NOW)).toBe(false);
  expect(hourly().mayKeep(event({ organizationId: null }), NOW)).toBe(false);
});

test("an organization's type has one notice an hour for each cause", () => {
  const hour = hourly();
  expect(hour.mayNotify(event(), NOW)).toBe(true);
  hour.hasNotified(event());
  expect(hour.mayNotify(event({ eventId: "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be112" }), NOW)).toBe(false);
  expect(hour.mayNotify(event({ cause: "too_old" }), NOW)).toBe(true);
  expect(hour.mayNotify(event({ organizationId: "other" }), NOW)).toBe(true);
  expect(hour.mayNotify(event({ eventType: "RiskCreate" }), NOW)).toBe(true);
  expect(hour.mayNotify(event(), NEXT_HOUR)).toBe(true);
});

test("only some types of a flood have notices", () => {
  const hour = hourly();
  const types = Array.from({ length: 5_000 }, (_, index) => event({ eventType: `Type${index}` }));
  const noticed = types.filter((each) => {
    const mayNotify = hour.mayNotify(each, NOW);
    if (mayNotify) hour.hasNotified(each);
    return mayNotify;
  });
  expect(noticed).toHaveLength(1_000);
});
