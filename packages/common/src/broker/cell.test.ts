import { describe, expect, test } from "@jest/globals";
import { ConfigError } from "../config/read-config.ts";
import { BUCKETS, bucketOf, readBuckets, readCell } from "./cell.ts";

describe("buckets", () => {
  test.each([
    ["0-f", "0123456789abcdef"],
    ["8-f", "89abcdef"],
    ["0,3,a-c", "03abc"],
    ["c,a,a-b", "abc"],
    ["5-5", "5"],
  ])("%s are read in their order", (text, buckets) => {
    expect(readBuckets(text).join("")).toBe(buckets);
  });

  test.each(["", "g", "f-8", "0-", "0--7", "0 - 7", "A", "10", "0,"])(
    '"%s" is refused, with the words to write',
    (text) => {
      expect(() => readBuckets(text)).toThrow(/Write 0-7, or 0,3,a-c/);
    },
  );

  test("an organization's is the first digit of its hash, as routing keys have it", () => {
    expect(bucketOf("org-1")).toBe("c");
    const found = new Set(Array.from({ length: 500 }, (_, index) => bucketOf(`organization ${index}`)));
    expect([...found].sort()).toEqual(BUCKETS);
  });
});

describe("a cell", () => {
  test("has all buckets and needs no name, unless it is told otherwise", () => {
    expect(readCell({ INBOX_BUCKETS: "0-f", CELL: undefined })).toEqual({ name: undefined, buckets: BUCKETS });
  });

  test("with a part of the buckets needs a name", () => {
    expect(readCell({ INBOX_BUCKETS: "8-f", CELL: "b" })).toEqual({ name: "b", buckets: [..."89abcdef"] });
    expect(() => readCell({ INBOX_BUCKETS: "8-f", CELL: undefined })).toThrow(ConfigError);
    expect(() => readCell({ INBOX_BUCKETS: "8-f", CELL: undefined })).toThrow(/CELL is missing/);
  });

  test("names the setting that can't be read", () => {
    expect(() => readCell({ INBOX_BUCKETS: "f-8", CELL: "b" })).toThrow(/INBOX_BUCKETS: "f-8" is no bucket/);
  });
});
