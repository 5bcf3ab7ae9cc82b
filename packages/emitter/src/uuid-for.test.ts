import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { uuidFor } from "./uuid-for.ts";

// Made by Python's uuid.uuid5. Receivers hold such ids: these values may never change.
test.each([
  ["WorkItem", "4711", "00c4e2f3-32d0-593b-8409-5943b2180df6"],
  ["WorkItem", 4711, "00c4e2f3-32d0-593b-8409-5943b2180df6"],
  ["Project", "4711", "3045c3e0-7748-50b6-97ce-2eb33c71ad59"],
  ["WorkItem", "clx3k2a9d0001", "c6b7a91e-3c71-5b53-97a0-a3775406c162"],
  ["Risk", "Zürich 😀", "652afa9c-ded6-55a0-919e-8ca254c8b54e"],
])("the UUID for %s %s is %s", (kind, key, uuid) => {
  expect(uuidFor(kind, key)).toBe(uuid);
});

test("every kind and key has a UUID of version 5 of its own (property)", () => {
  const text = fc.string({ minLength: 1, unit: "grapheme" });
  fc.assert(
    fc.property(text, text, text, (kind, key, other) => {
      const uuid = uuidFor(kind, key);
      expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(uuidFor(kind, other) === uuid).toBe(other === key);
      expect(uuidFor(other, key) === uuid).toBe(other === kind);
    }),
  );
});

test("where kind ends and key begins makes a difference", () => {
  expect(uuidFor("Work", "Item7")).not.toBe(uuidFor("WorkItem", "7"));
});

test.each([
  ["", "empty"],
  [1.5, "no whole number"],
  [Number.NaN, "no whole number"],
  [2 ** 53, "no whole number"],
  ["a\ud800", "well-formed"],
])("%p is refused as a key", (key, message) => {
  expect(() => uuidFor("WorkItem", key)).toThrow(message);
});
