import { expect, test } from "@jest/globals";
import { checkJson, indented } from "./json.ts";

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
  ['{"a": "text', "look at line 1, column 7"],
  ["[}", "look at line 1, column 2"],
  ['{"a":1,"b"}', "look at line 1, column 11"],
  ["[01]", "look at line 1, column 3"],
  [",", "look at line 1, column 1"],
  ['["a\n"]', "look at line 1, column 2"],
  ['["\u001b[31m"]', "a text has a control character"],
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

test.each([
  ['{\n  "a": 1,\n  "a": 2\n}', "line 3, column 3"],
  ['[{"a":{"b":[{}]},"\\u0061":2}]', "line 1, column 18"],
  ['{"\\"{":"a","\\"{":":"}', "line 1, column 12"],
  ['{"__proto__":1,"__proto__":1}', "line 1, column 16"],
])("§4.1/body %j is taken as it is, and its repeated name is told: %s", (text, place) => {
  expect(checkJson(text, 1_000)).toMatchObject({ problem: null, repeated: place });
});

test.each([
  '{"a":"a","b":"a"}',
  '[{"a":1},{"a":2}]',
  '{"a":{"a":[{"a":1}]}}',
  '{"a":1,"A":"{\\"a\\":2}"}',
  '{"a":1,"a":2',
])("%j repeats no name, or is no JSON yet", (text) => {
  expect(checkJson(text, 1_000).repeated).toBeNull();
});

test("regression: a payload of the largest size is checked, however deep it is, and however long its texts", () => {
  const many = 130_000;
  for (const text of ["[".repeat(many) + "]".repeat(many), `{"${"\\n".repeat(many)}":1}`]) {
    expect(checkJson(text, 262_144)).toMatchObject({ problem: null, repeated: null });
  }
  expect(checkJson("[".repeat(many), 262_144).problem).toBe("Not valid JSON yet: it breaks off at the end.");
});

test.each([
  ['{"a":1}', '{\n  "a": 1\n}'],
  ['{"a":12345678901234567890,"a":"\\u00e9"}', '{\n  "a": 12345678901234567890,\n  "a": "\\u00e9"\n}'],
  ["[]", "[]"],
  ['{"a":{}, "b":[1,[]]}', '{\n  "a": {},\n  "b": [\n    1,\n    []\n  ]\n}'],
  [`["${"[".repeat(101)}",": , \\"}"]`, `[\n  "${"[".repeat(101)}",\n  ": , \\"}"\n]`],
  ["no JSON", "no JSON"],
])("the body %s is indented, and its values stay as they are written", (body, readable) => {
  expect(indented(body)).toBe(readable);
});

test("regression: a body that is nested deep stays as it is, and does not become a gigabyte of spaces", () => {
  const body = `${"[".repeat(20_000)}1${"]".repeat(20_000)}`;
  expect(indented(body) === body).toBe(true);
});
