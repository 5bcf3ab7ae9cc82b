import type { Log } from "@herald/common/telemetry/log";
import type { DispatcherMetrics } from "../metrics.ts";

interface Parts {
  metrics: Pick<DispatcherMetrics, "held">;
  log: Log;
  /** The restore has ended. */
  onEnd: () => void;
}

/**
 * Whether a restore of the database holds all attempts, as the last beat said: the operator has not ended it yet (`herald restore`). It
 * spares claims that would take nothing, stops what hints lease, and tells operators; the claims themselves ask the database.
 */
export interface Hold {
  /** What a beat says. */
  heard(isHeld: boolean): void;
  isHeld(): boolean;
}

export function createHold({ metrics, log, onEnd }: Parts): Hold {
  let held = false;
  return {
    heard(isHeld) {
      if (isHeld === held) return;
      held = isHeld;
      metrics.held.set(Number(held));
      if (held) {
        log.warn("a restore of the database holds all attempts; deliveries wait until `herald restore end`");
        return;
      }
      log.warn("the restore has ended; deliveries go on");
      onEnd();
    },
    isHeld: () => held,
  };
}
