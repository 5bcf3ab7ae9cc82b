import { expect, test } from "@jest/globals";
import pg from "pg";
import { shrinkingBatches, shrinkingPages } from "./shrinking.ts";
import { statementFailures } from "./statement-failures.ts";

function refusal(code: string): Error {
  const error = new pg.DatabaseError(`refused with ${code}`, 0, "error");
  error.code = code;
  return error;
}
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** A statement that PostgreSQL does in time for a number of items, and refuses for more; and the sizes that it was run with. */
function limited(limit: () => number, code = "57014") {
  const sizes: number[] = [];
  const run = async (items: readonly number[]) => {
    sizes.push(items.length);
    if (items.length > limit()) throw refusal(code);
    return items.map((item) => item * 10);
  };
  return { sizes, run };
}

const WAIT = "things wait for a lock or run out of time; fewer are tried at once";
const GO_ON = "things wait for no lock any more, and end in time";

function batchesOf<Result>(
  run: (items: readonly number[]) => Promise<readonly Result[]>,
  max: number,
  lines: string[] = [],
) {
  const log = { info: (line: string) => void lines.push(line), warn: (line: string) => void lines.push(line) };
  return shrinkingBatches(run, { max, what: "things", log, progress: statementFailures().createProgress() });
}

test("a batch runs at once if it can, and its results keep the order of the items", async () => {
  const { sizes, run } = limited(() => 100);
  const batches = batchesOf(run, 4);
  expect(await batches(numbers(10))).toEqual({ results: numbers(10).map((item) => item * 10), setAside: [] });
  expect(sizes).toEqual([4, 4, 2]);
  expect(await batches([])).toEqual({ results: [], setAside: [] });
});

test.each(["57014", "55P03", "40P01"])(
  "a batch that ends with %s is halved until it succeeds, and nothing is lost",
  async (code) => {
    const { sizes, run } = limited(() => 3, code);
    const lines: string[] = [];
    const batches = batchesOf(run, 8, lines);
    expect((await batches(numbers(8))).results).toEqual(numbers(8).map((item) => item * 10));
    expect(sizes).toEqual([8, 4, 2, 4, 2, 4, 2, 2]);
    // Three of them fail after a success.
    expect(lines).toEqual(Array.from({ length: 3 }, () => [WAIT, GO_ON]).flat());
  },
);

test("the next call begins with the size that succeeded, and grows again", async () => {
  let limit = 2;
  const { sizes, run } = limited(() => limit);
  const batches = batchesOf(run, 16);
  await batches(numbers(18));
  expect(sizes).toEqual([16, 8, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 2]);
  limit = 100;
  sizes.length = 0;
  await batches(numbers(44));
  expect(sizes).toEqual([8, 16, 16, 4]);
});

test("an item that fails alone is set aside with its error, and all others succeed", async () => {
  const bad = new Set([3, 11]);
  const run = async (items: readonly number[]) => {
    if (items.some((item) => bad.has(item))) throw refusal("22P05");
    return items;
  };
  const { results, setAside } = await batchesOf(run, 16)(numbers(16));
  expect(results).toEqual(numbers(16).filter((item) => !bad.has(item)));
  expect(setAside).toEqual([...bad].map((item) => ({ item, error: refusal("22P05") })));
});

test("an item that is too much even alone is set aside, so that a batch ends", async () => {
  const { run } = limited(() => 0);
  const lines: string[] = [];
  const { results, setAside } = await batchesOf(run, 4, lines)(numbers(4));
  expect(lines).toEqual([WAIT]);
  expect(results).toEqual([]);
  expect(setAside.map(({ item }) => item)).toEqual(numbers(4));
});

test("an outage is no matter of size: it ends the call", async () => {
  let runs = 0;
  const run = async () => {
    runs++;
    throw refusal("57P01");
  };
  await expect(batchesOf(run, 8)(numbers(8))).rejects.toMatchObject({ code: "57P01" });
  expect(runs).toBe(1);
});

test("a page that is too much is read again in half the size, and later pages grow again", async () => {
  const sizes: number[] = [];
  let limit = 3;
  const pages = shrinkingPages({ max: 10 });
  const page = () =>
    pages(async (size) => {
      sizes.push(size);
      if (size > limit) throw refusal("57014");
      return size;
    });
  expect(await page()).toBe(3);
  expect(sizes).toEqual([10, 5, 3]);
  limit = 100;
  expect(await page()).toBe(6);
  expect(await page()).toBe(10);
  expect(await page()).toBe(10);
});

test("a page of one row that is too much fails, and so does any other error at once", async () => {
  const pages = shrinkingPages({ max: 4 });
  await expect(pages(() => Promise.reject(refusal("57014")))).rejects.toMatchObject({ code: "57014" });
  const sizes: number[] = [];
  const failing = shrinkingPages({ max: 4 })((size) => {
    sizes.push(size);
    return Promise.reject(refusal("22P02"));
  });
  await expect(failing).rejects.toMatchObject({ code: "22P02" });
  expect(sizes).toEqual([4]);
});
