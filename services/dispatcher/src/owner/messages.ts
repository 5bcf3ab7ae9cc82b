import type { Broker, Consumer, IncomingMessage } from "@herald/common/broker/broker";
import type { Log } from "@herald/common/telemetry/log";
import { type EndpointChanged, type HandOver, isUuid, type ManualReply, type ManualRequest } from "@herald/contracts";

interface Parts {
  broker: Broker;
  handedOver: (handOver: HandOver) => void;
  changed: (change: EndpointChanged) => void;
  /** Resolves with whether the delivery was attempted; never rejects. */
  manual: (request: ManualRequest, traceparent: string | null) => Promise<boolean>;
  log: Log;
}

/** Messages that the broker sends ahead. Each is acknowledged at once. */
const PREFETCH = 500;

/**
 * Consumes this dispatcher's own queue: hand-overs of publishers, and messages of the management API. A lost message does no harm: the rows say what
 * is due. A forged one would: its deliveries are signed and sent. So hand-overs count only from the exchange to which publishers alone may write, and
 * the other messages only from the management API's.
 */
export function consumeMessages(ownerId: string, { broker, handedOver, changed, manual, log }: Parts): Consumer {
  const { dispatchExchange, requestsExchange } = broker.names;

  async function answer(request: ManualRequest, message: IncomingMessage): Promise<void> {
    const value = message.headers.traceparent;
    const traceparent = typeof value === "string" ? value : null;
    const reply: ManualReply = { deliveryId: request.deliveryId, attempted: await manual(request, traceparent) };
    message.reply(Buffer.from(JSON.stringify(reply)));
  }

  return broker.consumeAsOwner(ownerId, {
    prefetch: PREFETCH,
    handle(message) {
      message.ack();
      const content = readJson<HandOver & EndpointChanged & ManualRequest>(message.content);
      const { exchange } = message;
      if (exchange === dispatchExchange && isHandOver(content)) handedOver(content);
      else if (exchange === requestsExchange && isChange(content)) changed(content);
      else if (exchange === requestsExchange && isManual(content)) void answer(content, message);
      else log.warn("a message was dropped: it can't be read, or came through a wrong exchange", { exchange });
    },
  });
}

// PostgreSQL writes ids in lower case, and the owner's maps have that text as their key.
const isId = (value: unknown): value is string => isUuid(value) && value === value.toLowerCase();

type Target = { endpointId: string; organizationId: string };
const isTarget = (value: Partial<Target> | null) =>
  isId(value?.endpointId) && typeof value?.organizationId === "string";

function isHandOver(content: Partial<HandOver>): content is HandOver {
  const { stored, events, deliveries, work } = content;
  return (
    typeof stored === "boolean" &&
    Array.isArray(events) &&
    events.every(isEvent) &&
    Array.isArray(deliveries) &&
    deliveries.every((each) => isTarget(each) && isId(each.deliveryId) && isTime(each.readAtUtc)) &&
    Array.isArray(work) &&
    work.every(isTarget)
  );
}

function isEvent(event: Partial<HandOver["events"][number]> | null): boolean {
  if (typeof event?.body !== "string" || typeof event.eventType !== "string") return false;
  return isId(event.key) && isTime(event.receivedAtUtc);
}

function isChange(content: Partial<Target> & { kind?: string }): content is EndpointChanged {
  return content.kind === "changed" && isTarget(content);
}

function isManual(
  content: Partial<Target> & { kind?: string; deliveryId?: string; dueAtUtc?: string },
): content is ManualRequest {
  return content.kind === "manual" && isTarget(content) && isId(content.deliveryId) && isTime(content.dueAtUtc);
}

function isTime(value: unknown): value is string {
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

/** The fields of a message from the broker. An unreadable message loses no delivery: PostgreSQL knows what is due. */
function readJson<T>(content: Buffer): Partial<T> {
  try {
    return (JSON.parse(content.toString("utf8")) ?? {}) as Partial<T>;
  } catch {
    return {};
  }
}
