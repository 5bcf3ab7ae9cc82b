import { expect, test } from "@jest/globals";
import { knownSecrets } from "./known-secrets.ts";

test("a secret that was added stays, and secrets that were read are replaced by the next reading", async () => {
  let stored = ["a"];
  const secrets = knownSecrets(() => stored);
  secrets.add("added");
  await secrets.refresh();
  expect(secrets.current()).toEqual(["added", "a"]);
  stored = ["b"];
  await secrets.refresh();
  expect(secrets.current()).toEqual(["added", "b"]);
});

test("calls at the same time share readings, and no call gets a reading that began before it", async () => {
  const readings: ((secrets: string[]) => void)[] = [];
  const secrets = knownSecrets(() => new Promise<string[]>((resolve) => readings.push(resolve)));
  const first = secrets.refresh();
  await Promise.resolve();
  const later = [secrets.refresh(), secrets.refresh(), secrets.refresh()];
  expect(readings).toHaveLength(1);
  readings[0]?.(["old"]);
  await first;
  await new Promise((resolve) => setImmediate(resolve));
  expect(readings).toHaveLength(2);
  readings[1]?.(["new"]);
  await Promise.all(later);
  expect(secrets.current()).toEqual(["new"]);
  expect(readings).toHaveLength(2);
});

test("a reading that fails leaves what was known, and the next one is tried", async () => {
  let fails = false;
  const secrets = knownSecrets(async () => {
    if (fails) throw new Error("the database is away");
    return ["a"];
  });
  await secrets.refresh();
  fails = true;
  await expect(secrets.refresh()).rejects.toThrow("away");
  expect(secrets.current()).toEqual(["a"]);
  fails = false;
  await secrets.refresh();
});
