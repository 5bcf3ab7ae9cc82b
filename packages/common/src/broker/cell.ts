import { createHash } from "node:crypto";
import type { serviceSettings } from "../config/common-settings.ts";
import { ConfigError, readSetting } from "../config/read-config.ts";
import type { Config } from "../config/settings.ts";

/**
 * An event's routing key is its type and the first two hexadecimal digits of its organization's hash; the first one is the
 * bucket. So a flood of one organization fills the queues of one bucket.
 */
export const BUCKETS: readonly string[] = [..."0123456789abcdef"];

/** A Herald among those that share the events of one broker: each has a database of its own, and buckets of its own. */
export interface Cell {
  /** Undefined for a Herald that has all buckets. */
  name?: string | undefined;
  /** The buckets of this Herald in their order, at least one. */
  buckets: readonly string[];
}

export const WHOLE: Cell = { buckets: BUCKETS };

/** The bucket of an organization: the first hexadecimal digit of the SHA-256 of its id. */
export function bucketOf(organizationId: string): string {
  return createHash("sha256").update(organizationId, "utf8").digest("hex").slice(0, 1);
}

/**
 * Reads INBOX_BUCKETS and CELL.
 *
 * @throws ConfigError where a range runs backwards, or a part of the buckets belongs to a Herald without a name: its dispatchers would
 * share their queues with those of the others
 */
export function readCell({
  INBOX_BUCKETS,
  CELL,
}: Pick<Config<typeof serviceSettings>, "INBOX_BUCKETS" | "CELL">): Cell {
  const buckets = readSetting("INBOX_BUCKETS", () => readBuckets(INBOX_BUCKETS));
  if (buckets.length < BUCKETS.length && CELL === undefined) {
    throw new ConfigError([
      `CELL is missing: INBOX_BUCKETS is ${INBOX_BUCKETS}, so other Heralds have the other buckets. Give this one a name that none of them has.`,
    ]);
  }
  return { name: CELL, buckets };
}

/**
 * Reads digits and ranges of them: "0-7", "0,3,a-c".
 *
 * @throws where it is something else
 */
export function readBuckets(text: string): string[] {
  const named = new Set<string>();
  for (const part of text.split(",")) {
    const [, from, to = from] = /^([0-9a-f])(?:-([0-9a-f]))?$/.exec(part) ?? [];
    if (from === undefined || to === undefined || from > to) {
      throw new Error(
        `"${part}" is no bucket and no range of buckets. Write 0-7, or 0,3,a-c: digits from 0 to f, the smaller first.`,
      );
    }
    for (const bucket of BUCKETS) if (bucket >= from && bucket <= to) named.add(bucket);
  }
  return BUCKETS.filter((bucket) => named.has(bucket));
}
