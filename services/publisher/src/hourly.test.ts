import { expect, test } from "@jest/globals";
import { hourly, KEPT_OF_ALL, KEPT_OF_ORGANIZATION } from "./hourly.ts";
import type { Rejection } from "./rejections.ts";

const NOW = new Date("2026-06-01T10:59:00.000Z");
const NEXT_HOUR = new Date("2026-06-01T11:00:00.000Z");

const event = (override: Partial<Rejection> = {}): Rejection => ({
  cause: "unknown_type",
  organizationId: "acme",
  eventId: "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111",
  eventType: "RiskCreatd",
  reason: "no such type",
  ...override,
});

/** How many of so many events are kept. */
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

test("so many events of an organization are kept in an hour, and of all organizations so many", () => {
  const hour = hourly();
  expect(keep(hour, 1_000, NOW)).toBe(KEPT_OF_ORGANIZATION);
  expect(hour.mayKeep(event({ organizationId: "other" }), NOW)).toBe(true);
  expect(keep(hour, 20_000, NOW, (index) => `org-${index}`)).toBe(KEPT_OF_ALL - KEPT_OF_ORGANIZATION);
  expect(keep(hour, 1_000, NEXT_HOUR)).toBe(KEPT_OF_ORGANIZATION);
});

test("what nobody could find is not kept", () => {
  expect(hourly().mayKeep(event({ eventId: null }), NOW)).toBe(false);
  expect(hourly().mayKeep(event({ organizationId: null }), NOW)).toBe(false);
});

test("an organization's type is told once an hour for each cause, and not for good", () => {
  const hour = hourly();
  expect(hour.mayTell(event(), NOW)).toBe(true);
  hour.hasTold(event());
  expect(hour.mayTell(event({ eventId: "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be112" }), NOW)).toBe(false);
  expect(hour.mayTell(event({ cause: "too_old" }), NOW)).toBe(true);
  expect(hour.mayTell(event({ organizationId: "other" }), NOW)).toBe(true);
  expect(hour.mayTell(event({ eventType: "RiskCreate" }), NOW)).toBe(true);
  expect(hour.mayTell(event(), NEXT_HOUR)).toBe(true);
});

test("a flood of types is told of some of them", () => {
  const hour = hourly();
  const types = Array.from({ length: 5_000 }, (_, index) => event({ eventType: `Type${index}` }));
  const told = types.filter((each) => {
    const mayTell = hour.mayTell(each, NOW);
    if (mayTell) hour.hasTold(each);
    return mayTell;
  });
  expect(told).toHaveLength(1_000);
});
