import { deepStrictEqual } from "node:assert";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { rawMember } from "./raw-member.ts";

describe("rawMember", () => {
  test.each([
    ['{"data":{}}', "{}"],
    ['{"a":1,"data":{"x":1.10,"y":12345678901234567890}}', '{"x":1.10,"y":12345678901234567890}'],
    ['{"data": {"a": "}\\"{,"} ,"b":[1,{"c":"]"}]}', '{"a": "}\\"{,"}'],
    ['{ "data" : [ ] , "data" : 2 }', "2"],
    ['{"d\\u0061ta":"escaped name"}', '"escaped name"'],
    ['\n{\t"x":{"data":1},\r\n"data":null}', "null"],
    ['{"x":"data","y":"\\\\","data":true}', "true"],
  ])("the raw member of %s is %s", (json, expected) => {
    expect(JSON.parse(json)).toHaveProperty("data");
    expect(rawMember(json, "data")).toBe(expected);
  });

  test("the raw member is the value that JSON.parse reads, whatever stands around it (property)", () => {
    // Not fast-check's own "binary": that makes a table of all of Unicode, which takes longer than the test.
    const character = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
    const key = fc.oneof(fc.constantFrom("data", "Data", "", "__proto__"), fc.string({ unit: character }));
    const members = fc.array(fc.tuple(key, fc.json(), fc.constantFrom("", " ", "\n\t")), { maxLength: 6 });
    fc.assert(
      fc.property(members, fc.json(), members, (before, value, after) => {
        const text = [...before, ["data", value, " "] as const, ...after]
          .map(([name, json, space]) => `${space}${JSON.stringify(name)}${space}:${space}${json}${space}`)
          .join(",");
        const object = `{${text}}`;
        deepStrictEqual(JSON.parse(rawMember(object, "data")), (JSON.parse(object) as { data: unknown }).data);
      }),
      { numRuns: 500 },
    );
  });

  test("rawMember throws where the member is missing", () => {
    expect(() => rawMember('{"x":{"data":1}}', "data")).toThrow('no member "data"');
  });
});
