import { ENTITY_TYPE_OF, EVENT_TYPES, type EventPayload } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { eventTypes } from "./event-types.ts";

test("§2.4/fields §6/names the catalogue has a sample for each event, about the kind of entity that emitters name", () => {
  const samples = eventTypes.map(({ sample }) => JSON.parse(sample) as EventPayload);
  expect(samples.map(({ type, entityType }) => [type, entityType])).toEqual(
    EVENT_TYPES.map((type) => [type, ENTITY_TYPE_OF[type]]),
  );
  for (const sample of samples) {
    expect(Object.keys(sample)).toEqual(["id", "type", "occurredAtUtc", "entityType", "entityId", "data"]);
  }
  expect(eventTypes.filter(({ remark }) => remark !== null)).toMatchObject([{ name: "ProjectUpdated" }]);
});
