import { expect, test } from "@jest/globals";
import { nestedLists, publishWith, withConnection } from "../hostile/amqp-frames.ts";
import { useInbox } from "../hostile/use-inbox.ts";

const limited = useInbox({ ownNode: true });

test("a broker with the two limits of deploy/docker/rabbitmq.conf refuses a larger frame, and a message beyond 1 MiB", async () => {
  await withConnection(limited.url, async (connection) => {
    const channel = await connection.createConfirmChannel();
    channel.on("error", () => {});
    // The broker gives a reason or only hangs up, depending on the network.
    const refused = new Promise<void>((resolve) => connection.once("close", () => resolve()));
    const table = nestedLists(20_000);
    publishWith({ connection, channel }, { exchange: limited.names.eventsExchange, table, body: "not JSON" });
    await refused;
  });
  await withConnection(limited.url, async (connection) => {
    const channel = await connection.createConfirmChannel();
    const refused = new Promise<Error>((resolve) => channel.once("error", resolve));
    channel.publish(limited.names.eventsExchange, "RiskCreated", Buffer.alloc(1024 * 1024 + 1));
    expect((await refused).message).toMatch(/PRECONDITION_FAILED.*size/);
  });
  await limited.storeValid();
});
