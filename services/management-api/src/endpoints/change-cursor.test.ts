import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { changeCursorOf, parseChangeCursor } from "./change-cursor.ts";

test("a trail's cursor is read as it was made", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), fc.uuid(), (revision, resendId) => {
      expect(parseChangeCursor(changeCursorOf({ revision, resendId }))).toEqual({ revision, resendId });
    }),
  );
});

test.each(["", "AAAAAAAAAAE=", "A".repeat(31), "A".repeat(33), `${"A".repeat(31)}=`])("%j is no cursor", (text) => {
  expect(parseChangeCursor(text)).toBeNull();
});
