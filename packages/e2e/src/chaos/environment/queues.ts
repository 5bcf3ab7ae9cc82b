import type { Notice } from "@herald/contracts";
import { type Channel, connect } from "amqplib";

/** Runs a task on a channel of its own, past every link, on the first node that answers. */
async function withChannel<T>(urls: readonly URL[], task: (channel: Channel) => Promise<T>): Promise<T> {
  const [url, ...others] = urls;
  if (url === undefined) throw new Error("No RabbitMQ answers.");
  const connection = await connect(url.href, { timeout: 10_000 }).catch(() => undefined);
  if (connection === undefined) return await withChannel(others, task);
  connection.on("error", () => undefined);
  try {
    const channel = await connection.createChannel();
    channel.on("error", () => undefined);
    return await task(channel);
  } finally {
    await connection.close().catch(() => undefined);
  }
}

/** How many messages lie in each queue, neither delivered nor acknowledged. */
export function countMessages(urls: readonly URL[], queues: readonly string[]): Promise<Record<string, number>> {
  return withChannel(urls, async (channel) => {
    const counts: Record<string, number> = {};
    for (const queue of queues) counts[queue] = (await channel.checkQueue(queue)).messageCount;
    return counts;
  });
}

/** Makes the product's queue for Herald's notices; they stay there until the end of the run. */
export function collectNotices(urls: readonly URL[], exchange: string, queue: string): Promise<void> {
  return withChannel(urls, async (channel) => {
    await channel.assertExchange(exchange, "topic", { durable: true });
    await channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum" } });
    await channel.bindQueue(queue, exchange, "#");
  });
}

export function readNotices(urls: readonly URL[], queue: string): Promise<Notice[]> {
  return withChannel(urls, async (channel) => {
    const notices: Notice[] = [];
    for (let message = await channel.get(queue); message !== false; message = await channel.get(queue)) {
      notices.push(JSON.parse(message.content.toString("utf8")) as Notice);
      channel.ack(message);
    }
    return notices;
  });
}
