import type { BrokerScopeOptions } from "@herald/amqp";

type Channel = Parameters<BrokerScopeOptions["declare"]>[0];

/** @throws where Herald's exchange is not on the broker: it is Herald's publisher that makes it, and whom to start */
export async function checkExchange(channel: Channel, exchange: string): Promise<void> {
  await channel.checkExchange(exchange).catch((error: Error & { code?: number }) => {
    if (error.code !== 404) throw error;
    const text = `the exchange ${exchange} is not on the broker: start Herald's publisher, which makes it`;
    throw new Error(text, { cause: error });
  });
}
