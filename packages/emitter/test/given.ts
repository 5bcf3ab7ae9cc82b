import type { useBroker } from "@herald/dev/harness/use-broker";
import { afterEach, beforeEach } from "@jest/globals";
import { type Channel, type ChannelModel, connect } from "amqplib";
import { type EmittedEvent, type Emitter, type NewEvent, newEvent } from "../src/index.ts";

/** A new event: the creation of a risk, unless said otherwise. */
export const anEvent = (changes: Partial<NewEvent> = {}): EmittedEvent =>
  newEvent({
    organizationId: "acme",
    type: "RiskCreated",
    entityType: "Risk",
    entityId: "b7a3c1de-14a8-4e58-9a4e-3e6f0a4c2f10",
    ...changes,
  });

interface Declared {
  exchange: string;
  queue: string;
}

/** For each test of a file: a channel of the broker's admin, and at its end all emitters closed and what was declared gone. */
export function useAdminChannel(broker: ReturnType<typeof useBroker>, { exchange, queue }: Declared) {
  let admin: ChannelModel;
  let channel: Channel;
  const emitters: Emitter[] = [];

  beforeEach(async () => {
    admin = await connect(broker.url);
    // Tests close all connections of the virtual host, this one too.
    admin.on("error", () => {});
    channel = await admin.createChannel();
    channel.on("error", () => {});
  });

  afterEach(async () => {
    await Promise.all(emitters.splice(0).map((emitter) => emitter.close()));
    await admin.close().catch(() => {});
    const cleaner = await connect(broker.url);
    const cleaning = await cleaner.createChannel();
    await cleaning.deleteQueue(queue);
    await cleaning.deleteExchange(exchange);
    await cleaner.close();
  });

  return {
    emitters,
    get channel() {
      return channel;
    },
    declareExchange: () => channel.assertExchange(exchange, "topic", { durable: true }),
  };
}
