import { expect, test } from "@jest/globals";
import { checkJson } from "./json-check.ts";

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
