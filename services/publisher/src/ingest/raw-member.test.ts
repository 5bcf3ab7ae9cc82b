import { describe, expect, test } from "@jest/globals";
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
  ])("of %s is %s", (json, expected) => {
    expect(JSON.parse(json)).toHaveProperty("data");
    expect(rawMember(json, "data")).toBe(expected);
  });

  test("throws where the member is missing", () => {
    expect(() => rawMember('{"x":{"data":1}}', "data")).toThrow('no member "data"');
  });
});
