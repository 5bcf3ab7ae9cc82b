import type { Schema } from "@herald/contracts/schemas";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { cursorOf, parseCursor, parseVersion, versionOf } from "./opaque.ts";
import { periodFault, readQuery, unknownParameters } from "./validator.ts";

const parameters: Record<string, Schema> = {
  limit: { type: "integer" },
  deep: { type: "boolean" },
  name: { type: "string" },
  status: { type: "array", items: { type: "integer" } },
};

const noIntegers = ["0x10", "1e1", "1.0", " 1", "1 ", "+1", "01", "-0x1", "", "one", "１", "Infinity", "1_000"];
const noBooleans = ["1", "yes", "TRUE", ""];

test.each<[string, string | string[], unknown]>([
  ["limit", "7", 7],
  ["limit", "0", 0],
  ["limit", "-1", -1],
  ["deep", "true", true],
  ["deep", "false", false],
  ["name", "7", "7"],
  ["status", "200", [200]],
  ["status", ["200", "404", "x"], [200, 404, "x"]],
  // The schema refuses a list if one is meant, and a text.
  ["limit", ["1", "2"], ["1", "2"]],
  ...noIntegers.map((text): [string, string, string] => ["limit", text, text]),
  ...noBooleans.map((text): [string, string, string] => ["deep", text, text]),
])("the query parameter %s with %j says %j", (name, text, value) => {
  expect(readQuery({ [name]: text }, parameters)).toEqual({ [name]: value });
});

describe("unknown query parameters", () => {
  test("a query parameter with a slip in its name is refused by its name, with those that there are", () => {
    expect(unknownParameters({ evenType: "x", limit: "1" }, ["limit", "eventType"])).toEqual([
      { parameter: "evenType", code: "unknown_parameter", detail: "This takes limit, eventType." },
    ]);
  });

  test("names are compared exactly, and a prototype's names aren't known", () => {
    const names = ["Limit", "limit ", "limit[]", "toString", "__proto__"];
    const query = Object.fromEntries(names.map((name) => [name, ""]));
    expect(unknownParameters(query, ["limit"]).map(({ parameter }) => parameter)).toEqual(names);
  });

  test("if an operation takes no query parameters, the refusal says so", () => {
    expect(unknownParameters({ a: "" }, [])[0]?.detail).toBe("This takes no query parameters.");
    expect(unknownParameters({}, [])).toEqual([]);
  });
});

describe("time spans", () => {
  const noon = "2026-01-31T12:00:00Z";

  test("a span that ends before it begins is refused, by the instants that its texts say", () => {
    const problem = { parameter: "from", code: "out_of_range" };
    expect(periodFault({ from: noon, to: "2026-01-31T11:59:59Z" })).toMatchObject([problem]);
    expect(periodFault({ from: noon, to: "2026-01-31T12:59:59+01:00" })).toMatchObject([problem]);
    expect(periodFault({ from: noon, to: "2026-01-31T11:00:00-02:00" })).toEqual([]);
  });

  test("an empty span and half a span are taken", () => {
    expect(periodFault({ from: noon, to: noon })).toEqual([]);
    expect(periodFault({ from: noon })).toEqual([]);
    expect(periodFault({ to: noon })).toEqual([]);
  });
});

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
  for (const text of [
    "",
    "AAAAAAAAAAE",
    "AAAAAAAAAAF=",
    "AAAAAAAAAA==",
    " AAAAAAAAAAE=",
    "AAAAAAAAAAE=\n",
    "-_AAAAAAAAE=",
  ]) {
    expect(parseVersion(text)).toBeNull();
  }
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
  for (const text of ["", "null", "AAAA", `${cursorOf("00000000-0000-7000-8000-000000000000")}=`]) {
    expect(parseCursor(text)).toBeNull();
  }
});
