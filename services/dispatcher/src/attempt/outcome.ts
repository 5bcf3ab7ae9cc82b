import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Delivery } from "../sql/describe-deliveries.ts";

/** How an attempt went that had begun. */
export type Outcome =
  /** The result is stored, or PostgreSQL knows a later one: `nextAttemptAt` if there is a retry. */
  | { kind: "settled"; nextAttemptAt: Date | null }
  /** Nothing was sent, or nothing that counts: it has to be made again. If the endpoint is gone by then, the delivery is forgotten. */
  | { kind: "put back"; restMs: number }
  /** PostgreSQL decides after this time: the delivery's event may not be stored yet, or the result can't be stored. */
  | { kind: "left"; forMs: number }
  /** Nothing was sent: the endpoint is disabled or deleted. */
  | { kind: "gone" };

/**
 * Does what follows from an outcome for the delivery and its endpoint. The receiver is free by then, and the permit given back.
 *
 * | outcome | delivery | endpoint |
 * |---|---|---|
 * | settled | has ended; or is read again when it is due | |
 * | put back | waits in memory, before the others | rests for `restMs` |
 * | left | is forgotten after `forMs`, and read again if PostgreSQL has its row | |
 * | gone | is forgotten | |
 *
 * @param offer lets the endpoint have its next turn
 */
export function follow(outcome: Outcome, endpoint: Endpoint, delivery: Delivery, offer: () => void): void {
  const { line, gate, isGone } = endpoint;
  if (outcome.kind === "settled") line.settled(delivery, outcome.nextAttemptAt);
  else if (outcome.kind === "left") {
    const leave = () => {
      line.leave(delivery);
      offer();
    };
    if (outcome.forMs === 0) leave();
    else setTimeout(leave, outcome.forMs).unref();
  } else if (outcome.kind === "put back" && !isGone) {
    gate.rest(outcome.restMs);
    line.putBack(delivery);
  } else line.forget(delivery);
  offer();
}
