import { expect, test } from "@jest/globals";
import { authorOf } from "./author.ts";

test("a change is the admin's whom the token names", () => {
  const author = { changedBy: "admin", subject: "auth0|7", name: "Ana" };
  expect(authorOf({ subject: "auth0|7", name: "Ana" })).toEqual(author);
});

test.each(["", "a\0b", "\ud800", "x".repeat(257)])("the subject %j is left out", (subject) => {
  expect(authorOf({ subject, name: null }).subject).toBeNull();
});
