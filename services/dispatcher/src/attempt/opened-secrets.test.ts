import { KeyError, newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox } from "@herald/common/security/secret-box";
import { expect, test } from "@jest/globals";
import { keepOpened } from "./opened-secrets.ts";

/** A box that records what it was asked to open, and opens everything but "broken". */
function countingBox() {
  const asked: string[] = [];
  const open = (sealed: string, context: string) => {
    asked.push(`${sealed} of ${context}`);
    if (sealed === "broken") throw new Error("Does not open");
    return `secret of ${sealed}`;
  };
  return { open, asked };
}

test("a secret is opened once, and again if it was replaced or stands in another row", () => {
  const box = countingBox();
  const kept = keepOpened(box, 10);
  for (let attempt = 0; attempt < 3; attempt++) expect(kept.open("a", "endpoint 1")).toBe("secret of a");
  expect(kept.open("b", "endpoint 1")).toBe("secret of b");
  expect(kept.open("a", "endpoint 2")).toBe("secret of a");
  expect(box.asked).toEqual(["a of endpoint 1", "b of endpoint 1", "a of endpoint 2"]);
});

test("if there are more secrets than may be kept, the one that was used longest ago is opened again", () => {
  const box = countingBox();
  const kept = keepOpened(box, 2);
  for (const sealed of ["a", "b", "a", "c", "a", "b"]) kept.open(sealed, "endpoint");
  expect(box.asked.map((each) => each[0])).toEqual(["a", "b", "c", "b"]);
});

test("a secret that does not open is tried again each time", () => {
  const box = countingBox();
  const kept = keepOpened(box, 2);
  for (let attempt = 0; attempt < 2; attempt++) expect(() => kept.open("broken", "endpoint")).toThrow("Does not open");
  expect(box.asked).toHaveLength(2);
});

test.each([
  ["missing", "other"],
  ["another one under its id", "own"],
])(
  "a key that is %s is doubtful until it opens something, and no text that is none says anything of a key",
  (_what, id) => {
    const [own, other] = [newSealingKeys("own").SECRET_KEYS, newSealingKeys(id).SECRET_KEYS].map(secretBox);
    if (!own || !other) throw new Error("There are two.");
    const kept = keepOpened(own, 2);
    expect(() => kept.open("damaged", "endpoint")).toThrow();
    expect(kept.doubtfulKeys()).toEqual([]);
    expect(() => kept.open(other.seal("secret", "endpoint"), "endpoint")).toThrow(KeyError);
    expect(kept.doubtfulKeys()).toEqual([id]);
    kept.open(own.seal("secret", "endpoint"), "endpoint");
    expect(kept.doubtfulKeys()).toEqual(id === "own" ? [] : [id]);
  },
);
