import type { Broker, Consumer } from "@herald/common/broker/broker";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import { type Hint, isUuid } from "@herald/contracts";
import { readJson } from "../read-json.ts";
import type { Hinted } from "./hinted.ts";
import type { Scheduler } from "./scheduler.ts";

interface Parts {
  broker: Broker;
  scheduler: Pick<Scheduler, "add" | "offer">;
  hinted: Pick<Hinted, "read" | "giveBack">;
  /** Whether this process may send to the endpoint at all: it has a share of the endpoint's concurrency. */
  hasShare: (endpointId: string) => boolean;
  clock: Clock;
  log: Log;
}

/** Hints that the broker sends ahead. Each is acknowledged at once, so they are few only to be shared with other dispatchers. */
const HINT_PREFETCH = 100;

/** So often a hint is sent on. With many dispatchers and a low concurrency few have a share, and the due scan is theirs. */
const MAX_HOPS = 3;

/**
 * Consumes the hints that an endpoint has work. One that brings a delivery with it may have that attempted without a claim; whatever is
 * unusual goes the ordinary way. A process without a share of the endpoint's concurrency sends the hint on, for another one to get it.
 * A hint that is lost does no harm: the rows say what is due. Of one that the broker delivers again, only the endpoint counts: whoever had it
 * before may be attempting what it brings, and its acknowledgement was lost with the connection. One that is forged would do harm: what it
 * brings is signed and sent. So it counts only from the exchange to which publishers and dispatchers alone may write.
 */
export function consumeHints({ broker, scheduler, hinted, hasShare, clock, log }: Parts): Consumer {
  const { dispatchExchange: exchange, hintsQueue: queue } = broker.names;
  const sender = broker.sender();

  async function follow(hint: Hint): Promise<void> {
    const { endpointId, organizationId, delivery } = hint;
    const mayAttempt = hasShare(endpointId);
    if (!mayAttempt && sendOn(hint)) return;
    if (isUuid(delivery?.deliveryId)) {
      const ready = mayAttempt ? hinted.read(hint, delivery) : undefined;
      if (ready && scheduler.offer(ready)) return;
      await hinted.giveBack(delivery.deliveryId);
    }
    if (mayAttempt) scheduler.add({ endpointId, organizationId });
  }

  function sendOn(hint: Hint): boolean {
    const hops = (hint.hops ?? 0) + 1;
    if (hops > MAX_HOPS) return false;
    const leftMs = hint.delivery && Date.parse(hint.delivery.leasedUntilUtc) - clock.now().getTime();
    if (leftMs !== undefined && !(leftMs > 0)) return false;
    const content = Buffer.from(JSON.stringify({ ...hint, hops }));
    const expiry = leftMs === undefined ? {} : { expiresAfterMs: leftMs };
    return sender.send({ exchange, routingKey: queue, content, ...expiry });
  }

  return broker.consume({
    queue,
    prefetch: HINT_PREFETCH,
    handle(message) {
      message.ack();
      if (message.exchange !== exchange) {
        log.warn("a hint came by another way than publishers send it, and was dropped", {
          queue,
          exchange: message.exchange,
        });
        return;
      }
      const hint = readHint(message.content);
      if (hint) void follow(message.redelivered ? endpointOf(hint) : hint);
      else log.warn("a hint can't be read and was dropped", { queue });
    },
  });
}

function readHint(content: Buffer): Hint | undefined {
  const hint = readJson<Hint>(content);
  if (!isUuid(hint.endpointId) || typeof hint.organizationId !== "string") return undefined;
  // As PostgreSQL writes ids: what is counted for an endpoint is counted by this text.
  return { ...(hint as Hint), endpointId: hint.endpointId.toLowerCase() };
}

const endpointOf = ({ endpointId, organizationId }: Hint): Hint => ({ endpointId, organizationId });
