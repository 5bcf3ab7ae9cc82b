import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { cursorOf, parseCursor } from "./cursor.ts";

test("every id comes back out of its cursor", () => {
  fc.assert(fc.property(fc.uuid(), (id) => expect(parseCursor(cursorOf(id))).toBe(id)));
});

test("a text that no delivery id is written as is no cursor", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const id = parseCursor(text);
      if (id !== null) expect(cursorOf(id)).toBe(text);
    }),
  );
  for (const text of ["", "null", "AAAA", `${cursorOf("00000000-0000-7000-8000-000000000000")}=`]) {
    expect(parseCursor(text)).toBeNull();
  }
});
