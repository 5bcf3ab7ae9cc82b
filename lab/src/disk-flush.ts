import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "@herald/e2e/statistics";

const FLUSHES = 50;
const PAGE_BYTES = 8_192;

/** How long the disk takes to have a page for good, in milliseconds: what every commit and every quorum queue waits for. */
export async function diskFlushMs(): Promise<number> {
  const path = join(tmpdir(), `herald-bench-flush-${process.pid}`);
  const file = await open(path, "w");
  try {
    const times: number[] = [];
    for (let index = 0; index < FLUSHES; index++) {
      await file.write(Buffer.alloc(PAGE_BYTES, index), 0, PAGE_BYTES, 0);
      const startedAt = performance.now();
      await file.datasync();
      times.push(performance.now() - startedAt);
    }
    return median(times);
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}
