import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Notice } from "@herald/contracts";
import { type Channel, connect } from "amqplib";
import type { StoredDelivery } from "../verdict/history.ts";

/**
 * How many deliveries have come to their end, and what is still to be done. Notices are those that the product has not got yet: what a publisher held
 * when it was killed comes after a minute.
 */
export async function progressOf(prisma: PrismaClient) {
  const [row] = await prisma.$queryRaw<Record<"finished" | "unfinished" | "notices", number>[]>`
    select
      (count(*) filter (where state <> 'pending'))::int as "finished",
      (count(*) filter (where state = 'pending') + (select count(*) from due))::int as "unfinished",
      (select count(*) from notice)::int as "notices"
    from delivery`;
  if (!row) throw new Error("PostgreSQL answered an aggregate with no row.");
  return row;
}

/** Every delivery with its attempts. */
export async function storedDeliveries(prisma: PrismaClient): Promise<StoredDelivery[]> {
  return await prisma.$queryRaw<StoredDelivery[]>`
    select
      delivery.id,
      delivery.endpoint_id as "endpointId",
      event.id as "eventId",
      delivery.state::text as "state",
      delivery.attempt_count as "attemptCount",
      exists (select from due where due.delivery_id = delivery.id) as "isDue",
      coalesce(made.attempts, '[]') as "attempts"
    from delivery
    left join business_event as event
      on event.organization_id = delivery.organization_id and event.key = delivery.event_key
    left join (
      select
        delivery_id,
        json_agg(json_build_object(
          'number', number,
          'startedAt', (extract(epoch from started_at) * 1000)::bigint,
          'durationMs', duration_ms,
          'statusCode', status_code,
          'errorSummary', error_summary,
          'failureKind', failure_kind
        ) order by number) as attempts
      from attempt group by delivery_id
    ) as made on made.delivery_id = delivery.id`;
}

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
