import type { Notice } from "@herald/contracts";
import { type Channel, connect } from "amqplib";

/** Runs a task on a channel of its own, past every proxy. */
async function withChannel<T>(url: URL, task: (channel: Channel) => Promise<T>): Promise<T> {
  const connection = await connect(url.href, { timeout: 10_000 });
  connection.on("error", () => undefined);
  try {
    const channel = await connection.createChannel();
    channel.on("error", () => undefined);
    return await task(channel);
  } finally {
    await connection.close().catch(() => undefined);
  }
}

export function purgeQueue(url: URL, queue: string): Promise<void> {
  return withChannel(url, async (channel) => {
    await channel.purgeQueue(queue);
  });
}

/** How many messages lie in each queue, neither delivered nor acknowledged. */
export function countMessages(url: URL, queues: readonly string[]): Promise<Record<string, number>> {
  return withChannel(url, async (channel) => {
    const counts: Record<string, number> = {};
    for (const queue of queues) counts[queue] = (await channel.checkQueue(queue)).messageCount;
    return counts;
  });
}

/** Makes the product's queue for Herald's notices; they stay there until the end of the run. */
export function collectNotices(url: URL, exchange: string, queue: string): Promise<void> {
  return withChannel(url, async (channel) => {
    await channel.assertExchange(exchange, "topic", { durable: true });
    await channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum" } });
    await channel.bindQueue(queue, exchange, "#");
  });
}

export function readNotices(url: URL, queue: string): Promise<Notice[]> {
  return withChannel(url, async (channel) => {
    const notices: Notice[] = [];
    for (let message = await channel.get(queue); message !== false; message = await channel.get(queue)) {
      notices.push(JSON.parse(message.content.toString("utf8")) as Notice);
      channel.ack(message);
    }
    return notices;
  });
}
