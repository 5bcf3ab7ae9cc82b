import { expect, test } from "@jest/globals";
import { checkJson, jsonErrorAt } from "./json-error.ts";

test.each(['{"a":[1,-2.5e+3,{"b":null}],"c":"\\u00e4\\n"}', "[]", "{}", ' "x" ', "0", "true"])("%j is JSON", (text) => {
  expect(jsonErrorAt(text)).toBeNull();
});

test.each([
  ["", 0],
  ['{"a":', 5],
  ['{"a":1', 6],
  ['{"a":1,}', 7],
  ["[1,]", 3],
  ["{a:1}", 1],
  ['{"a" 1}', 5],
  ['{"a":x}', 5],
  ['{"a":1]', 6],
  ['{"a":01}', 5],
  ["[1 2]", 3],
  ["{} {}", 3],
  ['["a\nb"]', 1],
  ['["\\x"]', 1],
  ["'a'", 0],
  ["[,1]", 1],
])("%j stops being JSON at %i", (text, at) => {
  expect(jsonErrorAt(text)).toBe(at);
  expect(() => JSON.parse(text)).toThrow();
});

test.each(['{"a":1}', "[]", '"text"', "0", "null", ' {"ä":"\\u00e4"}\r\n'])("§4.1/body %j is valid JSON", (text) => {
  expect(checkJson(text, 1_000).problem).toBeNull();
});

test("where the JSON breaks is told by line and column", () => {
  expect(checkJson('{\n  "a": 1,\n  "b": x\n}', 1_000).problem).toBe("Not valid JSON yet: look at line 3, column 8.");
  expect(checkJson('{"a":', 1_000).problem).toBe("Not valid JSON yet: it breaks off at the end.");
});

test("nothing at all is asked for, not blamed", () => {
  expect(checkJson("  \n", 1_000).problem).toBe("Write the JSON to send.");
});

test("the size counts bytes of UTF-8, not characters", () => {
  expect(checkJson('"ää"', 100).bytes).toBe(6);
  expect(checkJson('"ää"', 5).problem).toBe("It has 6 bytes; at most 5 are allowed.");
});
