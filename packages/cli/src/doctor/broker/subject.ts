import type { Cell } from "@herald/common/broker/cell";
import type { Names } from "@herald/common/broker/topology";
import type { ServiceName } from "@herald/common/database/rights";
import type { ChannelModel, ConfirmChannel } from "amqplib";

/** The broker as checks find it. */
export interface BrokerSubject {
  connection: ChannelModel;
  names: Names;
  namespace: string;
  /** Which of the Heralds that share the namespace's events. */
  cell: Cell;
  /** The virtual host, as rabbitmqctl names it. */
  vhost: string;
  /** Whose user it is; undefined for one user of all services. */
  service: ServiceName | undefined;
}

/** What the broker says of itself, and what was agreed on at the start. Not in amqplib's types. */
export function greetingOf({ connection }: ChannelModel): {
  serverProperties: { product?: string; version?: string };
  frameMax: number;
} {
  return connection as unknown as ReturnType<typeof greetingOf>;
}

/** Runs one question on a channel of its own, since the broker answers "no" by closing the channel. */
export async function onChannel<T>(
  connection: ChannelModel,
  question: (channel: ConfirmChannel) => Promise<T>,
): Promise<T> {
  const channel = await connection.createConfirmChannel();
  // The question under way fails by itself; without a listener this event would end the process.
  channel.on("error", () => undefined);
  try {
    return await question(channel);
  } finally {
    await channel.close().catch(() => undefined);
  }
}

/** AMQP's number for why the broker refused something; undefined for other errors. */
export function replyCodeOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "number" ? code : undefined;
}

export const ACCESS_REFUSED = 403;
export const NOT_FOUND = 404;
export const PRECONDITION_FAILED = 406;

/**
 * Publishes a message, by the default exchange to a queue unless another one is said, and waits for the confirm. A message that no queue
 * takes is dropped.
 *
 * @throws the refusal, which closes the channel instead of a confirm
 */
export function confirmed(
  channel: ConfirmChannel,
  { exchange = "", routingKey, content }: { exchange?: string; routingKey: string; content: Buffer },
): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.once("error", reject);
    channel.publish(exchange, routingKey, content, {}, (error: unknown) => {
      if (error === null) resolve();
    });
  });
}
