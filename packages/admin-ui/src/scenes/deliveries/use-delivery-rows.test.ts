import type { DeliveryListItem, DeliveryPage } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { mergeHead } from "./use-delivery-rows.ts";

const rows = (ids: string, attemptCount = 1) => [...ids].map((id) => ({ id, attemptCount }) as DeliveryListItem);
const page = (ids: string, nextCursor: string | null = "more"): DeliveryPage => ({
  deliveries: rows(ids, 2),
  nextCursor,
});
const listed = (merged: DeliveryListItem[] | null): string | undefined =>
  merged?.map(({ id, attemptCount }) => id + attemptCount).join(" ");

test.each([
  [
    "new rows come on top, and those that both know are as the newest page has them",
    page("gfed"),
    "g2 f2 e2 d2 c1 b1 a1",
  ],
  ["a row that the newest page should have and has not is gone", page("fd"), "f2 d2 c1 b1 a1"],
  ["a newest page that is everything is everything", page("fd", null), "f2 d2"],
  ["if more rows came than a page holds, rows between the two are unknown", page("zyx"), undefined],
])("%s", (_words, newest, merged) => {
  expect(listed(mergeHead(newest, rows("fedcba")))).toBe(merged);
});
