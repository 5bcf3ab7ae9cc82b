import type { Names } from "@herald/common/broker/topology";
import type { ServiceName } from "@herald/common/database/rights";
import type { ChannelModel, ConfirmChannel, Options } from "amqplib";

export interface BrokerSubject {
  namespace: string;
  connection: ChannelModel;
  names: Names;
  /** The virtual host and the user of AMQP_URL, as rabbitmqctl names them. */
  vhost: string;
  user: string;
  /** The service that the broker's user belongs to; undefined for one user of all services. */
  service: ServiceName | undefined;
  /** How many publishers are at work; undefined if PostgreSQL does not say. */
  publishers: Promise<number | undefined> | undefined;
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

export const ACCESS_REFUSED = 403;
export const NOT_FOUND = 404;

/** AMQP's number for why the broker refused something; undefined for other errors. */
export function replyCodeOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "number" ? code : undefined;
}

/**
 * Publishes a message and waits for the confirm. One that no queue takes is dropped.
 *
 * @throws the refusal, which closes the channel instead of a confirm; an error without code if a queue refuses the message
 */
export function confirmed(
  channel: ConfirmChannel,
  exchange: string,
  key: string,
  { bytes = 1, content = Buffer.alloc(bytes), ...options }: { bytes?: number; content?: Buffer } & Options.Publish = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.once("error", reject);
    channel.publish(exchange, key, content, options, (error: unknown) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

export const DEFAULT_EXCHANGE = "";
