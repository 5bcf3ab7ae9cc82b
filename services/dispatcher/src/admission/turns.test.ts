import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { createTurns } from "./turns.ts";

const taker = (organizationId: string, id: string) => ({ id: `${organizationId}-${id}`, organizationId });

test("organizations take turns, and the endpoints of each", () => {
  const turns = createTurns();
  for (const id of ["1", "2", "3"]) turns.add(taker("a", id));
  turns.add(taker("b", "1"));
  turns.add(taker("c", "1"));
  const order: string[] = [];
  for (let next = turns.next(); next; next = turns.next()) order.push(next.id);
  expect(order).toEqual(["a-1", "b-1", "c-1", "a-2", "a-3"]);
  expect(turns.isEmpty()).toBe(true);
});

test("who waits already keeps its place, and who is removed has no turn", () => {
  const turns = createTurns();
  turns.add(taker("a", "1"));
  turns.add(taker("a", "2"));
  turns.add(taker("a", "1"));
  turns.remove(taker("a", "2"));
  turns.remove(taker("b", "1"));
  expect([turns.next()?.id, turns.next()]).toEqual(["a-1", undefined]);
});

test("nobody waits for more turns than there are organizations, times the endpoints of its own", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5), fc.nat(5)), { minLength: 1, maxLength: 40 }), (pairs) => {
      const turns = createTurns();
      const all = new Map(pairs.map(([o, e]) => [`o${o}-${e}`, taker(`o${o}`, `${e}`)]));
      for (const each of all.values()) turns.add(each);
      const organizations = new Set([...all.values()].map(({ organizationId }) => organizationId)).size;
      const waited = new Map([...all.keys()].map((id) => [id, 0]));
      for (let turn = 0; turn < 200; turn++) {
        const next = turns.next();
        if (next === undefined) break;
        for (const id of waited.keys()) waited.set(id, (waited.get(id) ?? 0) + 1);
        const own = [...all.values()].filter(({ organizationId }) => organizationId === next.organizationId).length;
        expect(waited.get(next.id)).toBeLessThanOrEqual(organizations * own);
        waited.set(next.id, 0);
        turns.add(next);
      }
    }),
  );
});
