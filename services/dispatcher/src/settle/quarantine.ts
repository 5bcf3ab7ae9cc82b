import { batcher } from "@herald/common/runtime/batcher";
import type { Basics } from "../basics.ts";
import { writeQuarantine } from "../sql/endpoint-health.ts";

export type Quarantine = ReturnType<typeof createQuarantine>;

/**
 * Writes down which endpoints Herald can't serve for a reason of its own: their signing secret does not open, since a key is missing. Their rows show it
 * to admins and operators, until a dispatcher opens the secret.
 */
export function createQuarantine({ queries, clock, log }: Basics) {
  const write = (since: () => Date | null) => {
    const batched = batcher<string, void>(
      async (endpointIds) => {
        await writeQuarantine(queries, endpointIds, since());
        return endpointIds.map(() => undefined);
      },
      { maxItems: 500, maxRunning: 1 },
    );
    // No caller waits for the statement, and the next attempt writes it again.
    return (endpointId: string) =>
      void batched(endpointId).catch((error) =>
        log.warn("whether an endpoint is quarantined can't be written down", { error }),
      );
  };
  return { begin: write(() => clock.now()), end: write(() => null) };
}
