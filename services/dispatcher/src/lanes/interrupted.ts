import type { ClaimedDelivery } from "../sql/claimed-delivery.ts";
import { createScheduler, type Scheduler, type SchedulerOptions } from "./scheduler.ts";

export interface InterruptedOptions extends Omit<SchedulerOptions, "claim"> {
  /** Claims the oldest interrupted delivery of an endpoint. */
  claim: (endpointId: string) => Promise<ClaimedDelivery | undefined>;
}

/**
 * Schedules the endpoints with deliveries that were interrupted again: their attempt was cut off, and not for the first time. In a lane of one
 * they come back one at a time. They all come due together, one lease after their dispatcher died; whichever of them was the cause must
 * not find the others in flight again. One that is only slow does not hold the others up.
 */
export function createInterrupted({ slots, claim, ...options }: InterruptedOptions): Scheduler {
  return createScheduler({
    ...options,
    // One free slot is enough, which a backlog that takes many at once leaves to it.
    slots: {
      takeUpTo: (endpointId) => slots.takeUpTo(endpointId, 1),
      giveBack: slots.giveBack,
      release: slots.release,
      isWorthClaiming: () => true,
    },
    async claim(demands) {
      const claimed = await Promise.all(demands.map(({ endpointId }) => claim(endpointId)));
      return claimed.filter((delivery) => delivery !== undefined);
    },
  });
}
