import { isDataError } from "@herald/common/database/errors";
import { untilAnswered } from "@herald/common/database/statement-failures";
import { batcher } from "@herald/common/runtime/batcher";
import type { Basics } from "../basics.ts";

/** Reads single items, up to `maxItems` of them with one statement. While PostgreSQL is out of reach, it waits. */
export function reader<Item, Result>(
  parts: Basics,
  { words, maxItems }: { words: string; maxItems: number },
  statement: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  return batcher<Item, Result>((items) => untilAnswered(parts, words, () => statement(items), isDataError), {
    maxItems,
    maxRunning: 2,
  });
}
