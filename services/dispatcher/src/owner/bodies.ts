import { isDataError } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import { retry } from "@herald/common/runtime/repeat";
import type { Log } from "@herald/common/telemetry/log";
import { type Delivery, readBodies } from "../sql/describe-deliveries.ts";

/** Bodies that one statement reads. As text they take memory beyond the budget of bytes, for a moment. */
const BATCH = { maxItems: 16, maxRunning: 2 };

/** Reads a large body, whose bytes were taken from the budget before; undefined where it is not stored any more. */
export function createReadBody({
  queries,
  log,
  signal,
}: {
  queries: Queries;
  log: Log;
  /** Ends the waiting for PostgreSQL. */
  signal: AbortSignal;
}): (delivery: Delivery) => Promise<Buffer | undefined> {
  return batcher<Delivery, Buffer | undefined>(async (deliveries) => {
    const bodies = await retry(() => readBodies(queries, deliveries), {
      shouldRetry: (error) => !isDataError(error),
      onFirstFailure: (error) => log.error("bodies can't be read; they wait for PostgreSQL", { error }),
      signal,
    });
    return bodies.map((body) => (body === null ? undefined : Buffer.from(body)));
  }, BATCH);
}
