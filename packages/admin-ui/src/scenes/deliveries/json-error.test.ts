import { expect, test } from "@jest/globals";
import { checkJson } from "./json-error.ts";

test.each(['{"a":1}', "[]", '"text"', "0", "null", ' {"ä":"\\u00e4"}\r\n'])("§4.1/body %j is valid JSON", (text) => {
  expect(checkJson(text, 1_000).problem).toBeNull();
});

test.each([
  ['{\n  "a": 1,\n  "b": x\n}', "look at line 3, column 8"],
  ['{"a":', "it breaks off at the end"],
  ['{"a":1', "it breaks off at the end"],
  ['{"a":1,}', "look at line 1, column 8"],
  ["[1,]", "look at line 1, column 4"],
  ["{a:1}", "look at line 1, column 2"],
  ['{"a" 1}', "look at line 1, column 6"],
  ["[1 2]", "look at line 1, column 4"],
  ["{} {}", "look at line 1, column 4"],
  ["'a'", "look at line 1, column 1"],
  ["// a", "look at line 1, column 1"],
  ['["\\x"]', "look at line 1, column 2"],
])("%j is no JSON: %s", (text, place) => {
  expect(checkJson(text, 1_000).problem).toBe(`Not valid JSON yet: ${place}.`);
});

test("nothing at all is asked for, not blamed", () => {
  expect(checkJson("  \n", 1_000).problem).toBe("Write the JSON to send.");
});

test("the size counts bytes of UTF-8, not characters", () => {
  expect(checkJson('"ää"', 100).bytes).toBe(6);
  expect(checkJson('"ää"', 5).problem).toBe("It has 6 bytes; at most 5 are allowed.");
});
