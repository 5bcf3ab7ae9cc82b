import type { Broker } from "@herald/common/broker/broker";
import type { Hint } from "@herald/contracts";

/**
 * Asks a dispatcher, over the broker, for a manual delivery's first attempt. Resolves when the attempt has been settled, and
 * also when nobody answered in time: what became of the delivery is in the database, not in the answer.
 */
export function attemptRequester(broker: Broker, { timeoutMs }: { timeoutMs: number }): (hint: Hint) => Promise<void> {
  const requester = broker.requester();
  const queue = broker.names.manualHintsQueue;
  return async (hint) => {
    await requester.request({ queue, content: Buffer.from(JSON.stringify(hint)), timeoutMs });
  };
}
