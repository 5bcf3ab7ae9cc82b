import { randomUUID } from "node:crypto";
import { connect } from "amqplib";

/** Messages without a confirm at once. */
const WINDOW = 500;

/** Messages a second of a hint's size that the broker confirms in a quorum queue. */
export async function barePublishesPerSecond(amqpUrl: string, seconds: number): Promise<number> {
  const connection = await connect(amqpUrl);
  try {
    const channel = await connection.createConfirmChannel();
    const queue = `bare-${randomUUID()}`;
    await channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum" } });
    const content = Buffer.from(JSON.stringify({ deliveryId: randomUUID(), endpointId: randomUUID() }));
    let confirmed = 0;
    const begun = performance.now();
    const end = begun + seconds * 1_000;
    await Promise.all(
      Array.from({ length: WINDOW }, async () => {
        while (performance.now() < end) {
          await new Promise<void>((resolve, reject) => {
            channel.sendToQueue(queue, content, { persistent: true }, (error) => (error ? reject(error) : resolve()));
          });
          confirmed += 1;
        }
      }),
    );
    const perSecond = confirmed / ((performance.now() - begun) / 1_000);
    await channel.deleteQueue(queue);
    return perSecond;
  } finally {
    await connection.close();
  }
}
