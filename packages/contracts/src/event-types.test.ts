import { expect, test } from "@jest/globals";
import { samplePayload } from "./event-samples.ts";
import { type Catalogue, EVENT_TYPES, isEventType } from "./event-types.ts";

test("§6/names only the exact names are event types", () => {
  for (const name of EVENT_TYPES) expect(isEventType(name)).toBe(true);
  for (const name of ["*", "", "riskcreated", "RiskCreated ", "Risk", "constructor", null, 7, ["RiskCreated"]]) {
    expect(isEventType(name)).toBe(false);
  }
});

test("an own catalogue has its own names, and no others", () => {
  const sample = { changes: {}, total: 7 };
  const own: Catalogue = { "invoice.paid": { entityType: "Invoice", emittedWhen: "an invoice is paid", sample } };
  expect(isEventType("invoice.paid", own)).toBe(true);
  for (const name of ["RiskCreated", "constructor", "invoice"]) expect(isEventType(name, own)).toBe(false);
  expect(samplePayload("invoice.paid", own)).toMatchObject({
    type: "invoice.paid",
    entityType: "Invoice",
    data: sample,
  });
  expect(() => samplePayload("RiskCreated", own)).toThrow("RiskCreated");
});
