import type { Queries } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import { writeQuarantine } from "../sql/endpoint-health.ts";

export type Quarantine = ReturnType<typeof createQuarantine>;

/** Length of a quarantine. The deliveries stay due, and the next sweep after it finds them again. */
const LEFT_ALONE_MS = 60_000;
const MAX_BATCH = 500;

interface Parts {
  queries: Queries;
  clock: Clock;
  log: Log;
}

/**
 * Endpoints that Herald can't serve for a reason of its own: their signing secret does not open, since a key is missing. This process leaves them alone
 * for a while. Their rows show it to admins and operators, until a dispatcher opens the secret.
 */
export function createQuarantine({ queries, clock, log }: Parts) {
  const until = new Map<string, number>();
  const write = (since: () => Date | null) =>
    batcher<string, void>(
      async (endpointIds) => {
        await writeQuarantine(queries, endpointIds, since());
        return endpointIds.map(() => undefined);
      },
      { maxItems: MAX_BATCH, maxRunning: 1 },
    );
  const writeBegin = write(() => clock.now());
  const writeEnd = write(() => null);
  // No caller waits for the statement, and the next attempt writes it again.
  const failed = (error: unknown) => log.warn("whether an endpoint is quarantined can't be written down", { error });
  return {
    begin(endpointId: string): void {
      until.set(endpointId, clock.monotonicMs() + LEFT_ALONE_MS);
      writeBegin(endpointId).catch(failed);
    },
    /** A secret was opened whose endpoint is quarantined by its row. */
    end: (endpointId: string) => void writeEnd(endpointId).catch(failed),
    /** Whether this process leaves the endpoint alone now. */
    has(endpointId: string): boolean {
      const time = until.get(endpointId);
      if (time === undefined) return false;
      if (clock.monotonicMs() < time) return true;
      until.delete(endpointId);
      return false;
    },
  };
}
