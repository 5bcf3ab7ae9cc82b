import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { entityTypeOf } from "./summary.ts";

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
