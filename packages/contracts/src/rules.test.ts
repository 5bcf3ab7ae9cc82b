import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { isOrganizationId, isTime, isUuid, storedName, toUtcTime } from "./rules.ts";

/** Not fast-check's own "binary": that makes a table of all of Unicode, which takes longer than the tests. */
const anyCharacter = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
const anyText = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 200 }), fc.string({ unit: "binary-ascii" }));
/** UTF-16 units in any order, so that halves of surrogate pairs stand alone. */
const anyUnits = fc
  .array(fc.oneof(fc.integer({ min: 0xd7ff, max: 0xe000 }), fc.integer({ min: 0, max: 0xff })), { maxLength: 200 })
  .map((units) => String.fromCharCode(...units));

test("nothing but text is an organization id, a UUID or a time", () => {
  for (const value of [undefined, null, 7, true, {}, [], ["acme"], new String("acme"), new Date()]) {
    expect([isOrganizationId(value), isUuid(value), isTime(value)]).toEqual([false, false, false]);
  }
});

test("an organization id has 1 to 128 code points, is well-formed, and holds no control character", () => {
  fc.assert(
    fc.property(fc.oneof(anyText, anyUnits), (text) => {
      const length = [...text].length;
      const expected = length >= 1 && length <= 128 && text.isWellFormed() && !/\p{Cc}/u.test(text);
      expect(isOrganizationId(text)).toBe(expected);
    }),
    { numRuns: 500 },
  );
});

test("UTF-8 keeps every organization id, so two ids never become one", () => {
  fc.assert(
    fc.property(fc.oneof(anyText, anyUnits).filter(isOrganizationId), (id) => {
      expect(Buffer.from(id).toString()).toBe(id);
    }),
  );
});

test("a UUID of any version is one, in capitals too", () => {
  fc.assert(fc.property(fc.uuid(), (id) => isUuid(id) && isUuid(id.toUpperCase())));
});

test("a UUID with one character more, less or of another kind is none", () => {
  const wrong = fc.tuple(fc.uuid(), fc.nat(35), fc.constantFrom("", "g", " ", "\n", "aa", "--"));
  fc.assert(fc.property(wrong, ([id, at, other]) => !isUuid(id.slice(0, at) + other + id.slice(at + 1))));
});

describe("UTC times", () => {
  const dates = fc.date({
    noInvalidDate: true,
    min: new Date("0001-01-01T00:00:00Z"),
    max: new Date("9999-12-31T23:59:59.999Z"),
  });

  test("every time that JavaScript writes is a UTC time, to the second and to the nanosecond too", () => {
    fc.assert(
      fc.property(dates, (date) => {
        const text = date.toISOString();
        return isTime(text) && isTime(text.replace(/\.\d+/, "")) && isTime(text.replace("Z", "000000Z"));
      }),
    );
  });

  test("a day counts when the calendar has it", () => {
    const days = fc.record({
      year: fc.integer({ min: 1, max: 9_999 }),
      month: fc.integer({ min: 0, max: 14 }),
      day: fc.integer({ min: 0, max: 33 }),
    });
    fc.assert(
      fc.property(days, ({ year, month, day }) => {
        const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
        const lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        const exists = day >= 1 && day <= (lengths[month - 1] ?? 0);
        const digits = (value: number, length: number) => String(value).padStart(length, "0");
        expect(isTime(`${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}T12:00:00Z`)).toBe(exists);
      }),
      { numRuns: 500 },
    );
  });
});

test.each([
  "2026-03-01T12:00:00Z",
  "2026-03-01T12:00:00.123456+02:00",
  "2026-03-01T12:00:00-00:00",
  "2026-03-01T00:00:00+23:59",
  "0001-01-01T00:00:00Z",
  "0001-01-01T00:00:00-01:00",
  "9999-12-31T23:59:59.999Z",
  "9999-12-31T23:59:59.999+01:00",
  "2024-02-29T23:59:59-05:30",
])("%s is a time", (value) => expect(isTime(value)).toBe(true));

// event-schemas.test.ts has times that are written otherwise.
test.each([
  ["a time that its offset moves before the year 1", "0001-01-01T00:00:00+23:59"],
  ["a time that its offset moves behind the year 9999", "9999-12-31T23:59:59-00:01"],
  ["a time of the year 0", "0000-12-31T23:59:59-01:00"],
])("%s is no time", (_title, value) => expect(isTime(value)).toBe(false));

test.each([
  ["2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"],
  ["2026-03-01T12:00:00.123456789Z", "2026-03-01T12:00:00.123456789Z"],
  ["2026-11-26T11:04:56.578284+00:00", "2026-11-26T11:04:56.578284Z"],
  ["2026-03-01T00:30:00.5+05:45", "2026-02-28T18:45:00.5Z"],
  ["2026-12-31T23:59:59-01:00", "2027-01-01T00:59:59Z"],
  ["0001-01-01T00:00:00-00:00", "0001-01-01T00:00:00Z"],
])("%s is %s in UTC, with the same digits of its second", (time, utc) => {
  expect(toUtcTime(time)).toBe(utc);
  expect(/Z$/.test(utc) && isTime(utc)).toBe(true);
});

test("a UTC time is a time, and PostgreSQL can hold what a time says in UTC", () => {
  const offsets = fc.tuple(fc.constantFrom("+", "-"), fc.integer({ min: 0, max: 24 }), fc.integer({ min: 0, max: 60 }));
  const date = fc.date({
    noInvalidDate: true,
    min: new Date("0001-01-01T00:00:00Z"),
    max: new Date("9999-12-31T23:59:59Z"),
  });
  fc.assert(
    fc.property(date, offsets, (at, [sign, hours, minutes]) => {
      const utc = at.toISOString();
      const digits = (value: number) => String(value).padStart(2, "0");
      const text = utc.replace("Z", `${sign}${digits(hours)}:${digits(minutes)}`);
      return isTime(utc) && (!isTime(text) || /^\d{4}-/.test(new Date(text).toISOString()));
    }),
  );
});

test.each([
  ["a name in its usual form", "Café Zürich", "Café Zürich"],
  ["letters and accents apart, as macOS writes file names", "Cafe\u0301 Zu\u0308rich", "Café Zürich"],
  ["Hangul in parts", "\u1112\u1161\u11ab", "한"],
  ["spaces at its ends", "  padded  ", "padded"],
  ["several spaces", "a  b   c", "a b c"],
  ["spaces of other widths", "\u00a0a\u2003\u3000b\u202f", "a b"],
  ["nothing but spaces", " \u2003", ""],
  ["letters of full width, which look different", "ＡＢ", "ＡＢ"],
  ["a line break, which is refused and not mended", "a\nb\n", "a\nb\n"],
])("%s", (_title, name, stored) => {
  expect(storedName(name)).toBe(stored);
  expect(storedName(stored)).toBe(stored);
});
