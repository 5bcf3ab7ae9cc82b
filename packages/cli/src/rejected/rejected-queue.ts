import { createHash } from "node:crypto";
import { carriedHeaders } from "@herald/common/broker/carried-headers";
import { CAME_TOO_OFTEN, type Names } from "@herald/common/broker/topology";
import { routingKey } from "@herald/emitter";
import type { ChannelModel, ConfirmChannel, GetMessage } from "amqplib";
import { depthOf } from "../connections.ts";

/** A message that this process holds. One that is neither replayed nor discarded goes back to its queue at the end. */
export interface HeldMessage extends RejectedMessage {
  /** Publishes it again, as it first came, and takes it out of this queue once the broker has confirmed that. */
  replay(): Promise<void>;
  discard(): void;
}

export interface RejectedQueue {
  depth: number;
  /** Yields each message once, in the queue's order, and at most as many as the queue had at the beginning. */
  messages(limit?: number): AsyncGenerator<HeldMessage>;
}

/**
 * Runs a task on the rejected queue. Until the task ends, other processes do not see the messages that it has read. Then the messages that it
 * neither replayed nor discarded go back to the queue, also if this process dies.
 * @throws if there is no such queue
 */
export async function withRejectedQueue<T>(
  connection: ChannelModel,
  names: Names,
  task: (queue: RejectedQueue) => Promise<T>,
): Promise<T> {
  const depth = await depthOf(connection, names.rejectedQueue);
  if (depth === null) {
    throw new Error(
      `There is no queue ${names.rejectedQueue}. Has a service run on this broker and with this BROKER_NAMESPACE?`,
    );
  }
  const channel = await connection.createConfirmChannel();
  channel.on("error", () => undefined);
  try {
    return await task({ depth, messages: (limit = depth) => read(channel, names, Math.min(limit, depth)) });
  } finally {
    await channel.close().catch(() => undefined);
  }
}

async function* read(channel: ConfirmChannel, names: Names, limit: number): AsyncGenerator<HeldMessage> {
  for (let count = 0; count < limit; count++) {
    const got = await channel.get(names.rejectedQueue);
    // Another process has taken the rest.
    if (got === false) return;
    yield hold(channel, names, got);
  }
}

function hold(channel: ConfirmChannel, names: Names, got: GetMessage): HeldMessage {
  const message = rejectedMessage(got);
  return {
    ...message,
    async replay() {
      await publish(channel, names.eventsExchange, message);
      channel.ack(got);
    },
    discard: () => channel.ack(got),
  };
}

/** @throws where the broker did not take it */
function publish(channel: ConfirmChannel, exchange: string, message: RejectedMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    let returned = false;
    const onReturn = () => {
      returned = true;
    };
    // RabbitMQ sends a return before the confirm.
    channel.once("return", onReturn);
    channel.once("close", onClose);
    function onClose() {
      reject(new Error(`The connection broke before RabbitMQ confirmed message ${message.id}; it stays where it was.`));
    }
    channel.publish(
      exchange,
      keyOf(message),
      message.content,
      {
        headers: originalHeaders(message),
        contentType: "application/json",
        persistent: true,
        mandatory: true,
      },
      (nack) => {
        channel.off("return", onReturn);
        channel.off("close", onClose);
        if (nack) reject(new Error(`RabbitMQ refused message ${message.id}; it stays where it was.`));
        else if (returned) reject(new Error(noQueue(message)));
        else resolve();
      },
    );
  });
}

const noQueue = ({ id }: RejectedMessage) =>
  `No inbox queue takes message ${id}; it stays where it was. Restart the publishers, which make the queues again.`;

const MAX_KEY_BYTES = 255;

/** The routing key as the emitter makes it. Events that can't be read are spread over the inbox by their contents. */
function keyOf(message: RejectedMessage): string {
  const { type, organizationId } = factsOf(message);
  const [key = "", unreadable = ""] = [type ?? "unreadable", "unreadable"].map((type) =>
    routingKey({ type, organizationId: organizationId ?? message.id }),
  );
  return Buffer.byteLength(key) > MAX_KEY_BYTES ? unreadable : key;
}

/** An event that broke the contract, as the rejected queue holds it. */
interface RejectedMessage {
  /** The same for the same content, however often the queue is read: quorum queues may change their order. */
  id: string;
  content: Buffer;
  headers: Readonly<Record<string, unknown>>;
  reason: string;
}

/** Headers that were added on the way into the rejected queue, by Herald and by the broker. */
const ADDED_HEADERS = /^(x-herald-reason|x-death|x-first-death-.*|x-last-death-.*|x-delivery-count|x-acquired-count)$/;

function rejectedMessage({ content, properties }: GetMessage): RejectedMessage {
  const { headers = {} } = properties;
  const id = createHash("sha256").update(content).digest("hex").slice(0, 12);
  return { id, content, headers, reason: reasonOf(headers) };
}

function reasonOf(headers: Record<string, unknown>): string {
  if (typeof headers["x-herald-reason"] === "string") return headers["x-herald-reason"];
  const death = headers["x-first-death-reason"];
  if (death === "delivery_limit") return CAME_TOO_OFTEN;
  return typeof death === "string" ? `RabbitMQ moved it here: ${death}` : "none is given";
}

/** The headers that the product service set, as far as they may go along. */
export function originalHeaders({ headers }: RejectedMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(carriedHeaders(headers)).filter(([name]) => !ADDED_HEADERS.test(name)));
}

/** The readable facts of a content that breaks the contract; null if it says nothing. */
export function factsOf({ content }: RejectedMessage): Record<"eventId" | "type" | "organizationId", string | null> {
  const value = parse(content);
  const text = (name: string) => (typeof value?.[name] === "string" ? value[name] : null);
  return { eventId: text("id"), type: text("type"), organizationId: text("organizationId") };
}

function parse(content: Buffer): Record<string, unknown> | null {
  try {
    return JSON.parse(content.toString("utf8"));
  } catch {
    return null;
  }
}
