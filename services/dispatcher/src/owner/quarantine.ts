import type { Queries } from "@herald/common/database/queries";
import { batcher } from "@herald/common/runtime/batcher";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import { writeQuarantine } from "../sql/endpoint-health.ts";

/**
 * Endpoints that Herald can't serve for a reason of its own: their signing secret does not open, since a key is missing. This process
 * leaves them alone for a while. Their rows say so to admins and operators, until a dispatcher opens the secret.
 */
export interface Quarantine {
  begin(endpointId: string): void;
  /** A secret was opened that the endpoint's row calls quarantined. */
  end(endpointId: string): void;
  /** Whether this process leaves the endpoint alone now. */
  has(endpointId: string): boolean;
}

/** For how long. Its deliveries stay due, and the next sweep after it finds them again. */
const LEFT_ALONE_MS = 60_000;
const MAX_BATCH = 500;

interface Parts {
  queries: Queries;
  clock: Clock;
  log: Log;
}

export function createQuarantine({ queries, clock, log }: Parts): Quarantine {
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
  // Nobody waits for it, and the next attempt writes it anew.
  const failed = (error: unknown) => log.warn("whether an endpoint is quarantined can't be written down", { error });
  return {
    begin(endpointId) {
      until.set(endpointId, clock.monotonicMs() + LEFT_ALONE_MS);
      writeBegin(endpointId).catch(failed);
    },
    end: (endpointId) => void writeEnd(endpointId).catch(failed),
    has(endpointId) {
      const time = until.get(endpointId);
      if (time === undefined) return false;
      if (clock.monotonicMs() < time) return true;
      until.delete(endpointId);
      return false;
    },
  };
}
