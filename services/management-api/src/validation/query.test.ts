import type { Schema } from "@herald/contracts/schemas";
import { describe, expect, test } from "@jest/globals";
import { periodFault, readQuery, unknownParameters } from "./query.ts";

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
