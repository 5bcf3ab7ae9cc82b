import { DEFAULT_CATALOGUE, EVENT_TYPES, type EventPayload } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { eventTypesOf } from "./event-types.ts";

test("§2.4/fields §6/names the catalogue has a sample for each event, about the kind of entity that emitters name", () => {
  const eventTypes = eventTypesOf(DEFAULT_CATALOGUE);
  const samples = eventTypes.map(({ sample }) => JSON.parse(sample) as EventPayload);
  expect(samples.map(({ type, entityType }) => [type, entityType])).toEqual(
    EVENT_TYPES.map((type) => [type, DEFAULT_CATALOGUE[type].entityType]),
  );
  for (const sample of samples) {
    expect(Object.keys(sample)).toEqual(["id", "type", "occurredAtUtc", "entityType", "entityId", "data"]);
  }
  expect(eventTypes.filter(({ remark }) => remark !== null)).toMatchObject([{ name: "ProjectUpdated" }]);
});
