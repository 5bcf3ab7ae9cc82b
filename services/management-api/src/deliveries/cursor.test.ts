import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { cursorOf, exportCursorOf, parseCursor, parseExportCursor } from "./cursor.ts";

const time = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date("9999-12-31T23:59:59.999Z") });

test("every id comes back out of its cursor", () => {
  fc.assert(fc.property(fc.uuid(), (id) => expect(parseCursor(cursorOf(id))).toBe(id)));
});

test("id and time of an export come back out of its cursor, and the id alone for a history", () => {
  fc.assert(
    fc.property(fc.uuid(), time, (id, madeBefore) => {
      const cursor = exportCursorOf(id, madeBefore);
      expect(parseExportCursor(cursor)).toEqual({ olderThan: id, madeBefore });
      expect(parseCursor(cursor)).toBe(id);
    }),
  );
});

test("a history's cursor says where an export goes on, and no time", () => {
  const id = "019c13d6-f400-8271-9bdf-796608ed68a3";
  expect(parseExportCursor(cursorOf(id))).toEqual({ olderThan: id, madeBefore: null });
});

test("a text that no delivery id is written as is no cursor", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const id = parseCursor(text);
      if (id !== null) expect(text.startsWith(cursorOf(id))).toBe(true);
    }),
  );
  const cursor = cursorOf("00000000-0000-7000-8000-000000000000");
  for (const text of ["", "null", "AAAA", `${cursor}=`, `${cursor}AAAA`, `${cursor}AAAAAAA=`, `${cursor}AAAAAAAAA`]) {
    expect(parseCursor(text)).toBeNull();
  }
});
