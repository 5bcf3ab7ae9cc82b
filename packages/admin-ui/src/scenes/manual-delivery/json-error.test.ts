import { expect, test } from "@jest/globals";
import { jsonErrorAt } from "./json-error.ts";

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
