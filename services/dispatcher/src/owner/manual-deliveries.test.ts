import { expect, test } from "@jest/globals";
import { manualCaps } from "./manual-deliveries.ts";

const times = (count: number, enter: () => boolean) => Array.from({ length: count }, enter).filter(Boolean).length;

test("one endpoint may have a tenth of all, and one organization a fifth", () => {
  const caps = manualCaps(100);
  expect(times(60, () => caps.enter("a-1", "a"))).toBe(10);
  expect(times(60, () => caps.enter("a-2", "a"))).toBe(10);
  expect(times(60, () => caps.enter("a-3", "a"))).toBe(0);
  expect(times(60, () => caps.enter("b-1", "b"))).toBe(10);
});

test("each manual delivery that has ended makes room for another one", () => {
  const caps = manualCaps(20);
  expect(times(5, () => caps.enter("a-1", "a"))).toBe(2);
  caps.leave("a-1", "a");
  expect(times(5, () => caps.enter("a-1", "a"))).toBe(1);
});

test("a small number has room for one of each", () => {
  const caps = manualCaps(1);
  expect([caps.enter("a-1", "a"), caps.enter("a-2", "a"), caps.enter("b-1", "b")]).toEqual([true, false, true]);
});
