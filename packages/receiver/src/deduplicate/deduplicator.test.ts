import { expect, test } from "@jest/globals";
import { deduplicator, memoryStore } from "./deduplicator.ts";

test("§4.4.6 an event is persisted once per endpoint, and a duplicate is no error", async () => {
  const persisted: string[] = [];
  const acceptOnce = deduplicator(memoryStore());
  const accept = (endpoint: string, key: string) =>
    acceptOnce(endpoint, key, async () => persisted.push(`${endpoint} ${key}`));
  expect(await accept("a", "1")).toBe("accepted");
  expect(await accept("a", "1")).toBe("duplicate");
  expect(await accept("b", "1")).toBe("accepted");
  expect(await accept("a", "2")).toBe("accepted");
  expect(persisted).toEqual(["a 1", "b 1", "a 2"]);
});

test("§4.4.7 of many calls at once with the same event, one persists it and the others wait", async () => {
  let persisted = 0;
  const acceptOnce = deduplicator(memoryStore());
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, () =>
      acceptOnce("a", "1", async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        persisted++;
      }),
    ),
  );
  expect(persisted).toBe(1);
  expect(outcomes.filter((outcome) => outcome === "accepted")).toHaveLength(1);
});

test("an event that could not be persisted is not remembered, and a call that waited for it persists it", async () => {
  const acceptOnce = deduplicator(memoryStore());
  const failing = acceptOnce("a", "1", () => Promise.reject(new Error("disk full")));
  const waiting = acceptOnce("a", "1", async () => {});
  await expect(failing).rejects.toThrow("disk full");
  expect(await waiting).toBe("accepted");
  expect(await acceptOnce("a", "1", async () => {})).toBe("duplicate");
});

test("the memory store forgets its oldest event beyond its capacity", async () => {
  const acceptOnce = deduplicator(memoryStore({ capacity: 2 }));
  for (const key of ["1", "2", "3"]) await acceptOnce("a", key, async () => {});
  expect(await acceptOnce("a", "3", async () => {})).toBe("duplicate");
  expect(await acceptOnce("a", "1", async () => {})).toBe("accepted");
});

test("§4.4.8 a request without an event id needs a key of its own", async () => {
  const acceptOnce = deduplicator(memoryStore());
  await expect(acceptOnce("a", null, async () => {})).rejects.toThrow(/idempotency key/);
  await expect(acceptOnce("", "1", async () => {})).rejects.toThrow(/name the endpoint/);
});
