import { expect, test } from "@jest/globals";
import { authorOf } from "./author.ts";

test("a change is the admin's whom the token names", () => {
  const author = { changedBy: "admin", subject: "auth0|7", name: "Ana" };
  expect(authorOf({ subject: "auth0|7", name: "Ana" })).toEqual(author);
});

test.each(["a\0b", "\ud800", "x".repeat(257)])(
  "of the subject %j, which can't be kept, the hash is kept",
  (subject) => {
    const { subject: kept } = authorOf({ subject, name: null });
    expect(kept).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(authorOf({ subject, name: "Ana" }).subject).toBe(kept);
    expect(authorOf({ subject: `${subject}!`, name: null }).subject).not.toBe(kept);
  },
);
