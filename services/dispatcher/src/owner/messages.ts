import type { Broker, Consumer } from "@herald/common/broker/broker";
import type { EndpointChanged, HandOver, ManualRequest } from "@herald/contracts";
import type { Basics } from "../basics.ts";
import { isHandOver, isId, isTarget, isTime, type Target } from "./hand-over.ts";
import type { ManualDeliveries } from "./manual-deliveries.ts";
import type { Owner } from "./owner.ts";

/**
 * Consumes this dispatcher's own queue: hand-overs of publishers, and messages of the management API. A lost message does no harm: the rows say what
 * is due. A forged one would: its deliveries are signed and sent. So hand-overs count only from the exchange to which publishers alone may write, and
 * the other messages only from the management API's.
 */
export function consumeMessages(
  ownerId: string,
  { broker, owner, manual, log }: Basics & { broker: Broker; owner: Owner; manual: ManualDeliveries },
): Consumer {
  const { dispatchExchange, requestsExchange } = broker.names;

  return broker.consumeAsOwner(ownerId, {
    // Each message is acknowledged at once.
    prefetch: 500,
    handle(message) {
      message.ack();
      const content = readJson<HandOver & EndpointChanged & ManualRequest>(message.content);
      const { exchange } = message;
      if (exchange === dispatchExchange && isHandOver(content)) owner.handedOver(content);
      else if (exchange === requestsExchange && isChange(content)) owner.changed(content);
      else if (exchange === requestsExchange && isManual(content)) void manual(content);
      else log.warn("a message was dropped: it can't be read, or came through a wrong exchange", { exchange });
    },
  });
}

function isChange(content: Partial<Target> & { kind?: string }): content is EndpointChanged {
  return content.kind === "changed" && isTarget(content);
}

function isManual(content: Partial<ManualRequest> & { kind?: string }): content is ManualRequest {
  const { kind, deliveryId, dueAtUtc, traceparent } = content;
  if (kind !== "manual" || !isTarget(content) || !isId(deliveryId) || !isTime(dueAtUtc)) return false;
  // A management API of the previous version sends none.
  return traceparent === undefined || traceparent === null || typeof traceparent === "string";
}

/** The fields of a message from the broker. An unreadable message loses no delivery: PostgreSQL knows what is due. */
function readJson<T>(content: Buffer): Partial<T> {
  try {
    return (JSON.parse(content.toString("utf8")) ?? {}) as Partial<T>;
  } catch {
    return {};
  }
}
