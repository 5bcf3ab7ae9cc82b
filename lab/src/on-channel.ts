import { type Channel, connect } from "amqplib";
import type { BenchHerald } from "./environment.ts";

/** Runs a task on a channel of its own. */
export async function onChannel<T>({ amqpUrl }: BenchHerald, task: (channel: Channel) => Promise<T>): Promise<T> {
  const connection = await connect(amqpUrl);
  try {
    return await task(await connection.createChannel());
  } finally {
    await connection.close();
  }
}
