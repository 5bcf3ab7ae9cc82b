import { expect, test } from "@jest/globals";
import { ENTITY_TYPE_OF, ENTITY_TYPES, EVENT_TYPES, isEventType } from "./event-types.ts";

test("every event is about one of the kinds of entity, and every kind has an event", () => {
  expect(Object.keys(ENTITY_TYPE_OF)).toEqual([...EVENT_TYPES]);
  expect(new Set(Object.values(ENTITY_TYPE_OF))).toEqual(new Set(ENTITY_TYPES));
});

test("§6/names only the exact names are event types", () => {
  for (const name of EVENT_TYPES) expect(isEventType(name)).toBe(true);
  for (const name of ["*", "", "riskcreated", "RiskCreated ", "Risk", "constructor", null, 7, ["RiskCreated"]]) {
    expect(isEventType(name)).toBe(false);
  }
});
