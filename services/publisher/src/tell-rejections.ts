import { isDataError } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import { groupRejections, type Rejection } from "./rejections.ts";
import { insertRejections } from "./sql/insert-rejections.ts";

interface Parts {
  queries: Queries;
  clock: Clock;
  log: Log;
}

/** Rejections of one statement, at the most. */
const MAX_BATCH = 500;

/** For so long, rejections gather before publishers tell of them: those of one organization, type and reason together. */
const GATHER_MS = 1_000;

/**
 * Leaves a notice of a rejected event in the outbox. It resolves when PostgreSQL has it, and the event is acknowledged after that:
 * a crash in between brings the event again, and it is told again.
 *
 * @returns a function that rejects where PostgreSQL can't be used now
 */
export function createTellRejections({ queries, clock, log }: Parts): (rejection: Rejection) => Promise<void> {
  return batcher<Rejection, void>(
    async (rejections) => {
      const now = clock.now();
      const publishAt = new Date(now.getTime() + GATHER_MS);
      try {
        await insertRejections(queries, groupRejections(rejections), { now, publishAt });
      } catch (error) {
        // The event is kept in the rejected queue in any case. It must not block the inbox for want of a notice.
        if (!isDataError(error)) throw error;
        log.error("a notice of rejected events can't be stored, and is left out", { error });
      }
      return rejections.map(() => undefined);
    },
    { maxItems: MAX_BATCH, maxRunning: 1 },
  );
}
