import { expect, test } from "@jest/globals";
import { besideStatus } from "./response-words.ts";

test.each([
  [500, "receiver answered 500", ""],
  [301, "receiver answered 301, redirects are not followed", "redirects are not followed"],
  [503, "connection refused", "connection refused"],
  [503, "receiver answered 503", ""],
  [200, null, ""],
  [null, null, ""],
])("beside %s stands what %j adds", (statusCode, errorSummary, words) => {
  expect(besideStatus(statusCode, errorSummary)).toBe(words);
});
