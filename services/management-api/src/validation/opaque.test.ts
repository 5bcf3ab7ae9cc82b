import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { cursorOf, parseCursor, parseVersion, versionOf } from "./opaque.ts";

test("§9.1 a version is Base64 of the revision's eight bytes, the highest first", () => {
  expect(versionOf(1n)).toBe("AAAAAAAAAAE=");
  expect(versionOf(258n)).toBe("AAAAAAAAAQI=");
  expect(versionOf(2n ** 63n - 1n)).toBe("f/////////8=");
});

test("§9.1 every revision comes back out of its version", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), (revision) => {
      expect(parseVersion(versionOf(revision))).toBe(revision);
    }),
  );
});

test("§9.1 a text that no revision is written as is no version, even if it can be decoded", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String(), fc.base64String({ minLength: 12, maxLength: 12 })), (text) => {
      const revision = parseVersion(text);
      if (revision !== null) expect(versionOf(revision)).toBe(text);
    }),
  );
  const none = ["", "AAAAAAAAAAE", "AAAAAAAAAAF=", "AAAAAAAAAA==", " AAAAAAAAAAE=", "AAAAAAAAAAE=\n", "-_AAAAAAAAE="];
  expect(none.map(parseVersion)).toEqual(none.map(() => null));
});

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
  const none = ["", "null", "AAAA", `${cursorOf("00000000-0000-7000-8000-000000000000")}=`];
  expect(none.map(parseCursor)).toEqual(none.map(() => null));
});
