import { MAX_EVENT_BYTES } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { organizationOf } from "../event/read-event.ts";
import type { Rejection } from "../sql/rows.ts";
import { hourly, KEPT_OF_ALL, KEPT_OF_ORGANIZATION, rejectionOf } from "./rejections.ts";

const read = (text: string) => organizationOf(Buffer.from(text));

test.each([
  ['{"organizationId":"acme","id":"1"}', "acme"],
  ['\ufeff { "data" : {"organizationId":"other"} , "organizationId" : "acme" }', "acme"],
  ['{"organiz\\u0061tionId":"\\u0061cme"}', "acme"],
  ['{"organizationId":"Übermut","data":"\\"}"}', "Übermut"],
])("the organization of %s is %s", (text, organization) => expect(read(text)).toBe(organization));

test.each([
  ["none", '{"id":"1","data":{"organizationId":"acme"}}'],
  ["no string", '{"organizationId":7}'],
  ["an object", '{"organizationId":{"a":"b"}}'],
  ["half a text", '{"organizationId":"acm'],
  ["half a member", '{"organizationId"'],
  ["a name without a value, behind others", '"x","y"{"organizationId"'],
  ["a broken escape", '{"\\x":1,"organizationId":"acme"}'],
  ["nothing", ""],
  ["a list", '["organizationId","acme"]'],
  ["an id that is too long", `{"organizationId":"${"x".repeat(2_000)}"}`],
  ["an event that is too large", `{"organizationId":"acme","data":"${"x".repeat(MAX_EVENT_BYTES)}"}`],
])("a message with %s shares its turns with others that can't be read", (_name, text) => expect(read(text)).toBe(""));

test("reading an organization ends, whatever the bytes (property)", () => {
  const pieces = fc.constantFrom("{", "}", "[", "]", '"', "\\", ":", ",", " ", "a", '"organizationId"', '"b"', "1");
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
      expect(typeof read(parts.join(""))).toBe("string");
    }),
    { numRuns: 2_000 },
  );
});

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

const NOW = new Date("2026-06-01T10:59:00.000Z");
const NEXT_HOUR = new Date("2026-06-01T11:00:00.000Z");

const event = (override: Partial<Rejection> = {}): Rejection => ({
  ...{ cause: "unknown_type", organizationId: "acme", eventId: ID, eventType: "RiskCreated", reason: "no such type" },
  ...override,
});

/** How many of these events are kept. */
function keep(hour: ReturnType<typeof hourly>, events: number, now: Date, organizationOf = (_index: number) => "acme") {
  let kept = 0;
  for (let index = 0; index < events; index++) {
    const each = event({ organizationId: organizationOf(index) });
    if (!hour.mayKeep(each, now)) continue;
    hour.keep(each);
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

test("an event is the hour's first of its organization, type and cause, or it is not", () => {
  const hour = hourly();
  hour.mayKeep(event(), NOW);
  expect(hour.keep(event())).toBe(true);
  expect(hour.keep(event({ eventId: null, reason: "another" }))).toBe(false);
  const others: Partial<Rejection>[] = [{ cause: "too_old" }, { organizationId: null }, { eventType: "RiskCreate" }];
  for (const other of others) expect(hour.keep(event(other))).toBe(true);
  hour.mayKeep(event(), NEXT_HOUR);
  expect(hour.keep(event())).toBe(true);
});
