import { names } from "@herald/common/broker/topology";
import { eventually } from "@herald/testkit/harness/eventually";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { useJourney } from "./test-environment.ts";

const journey = useJourney({ dispatcher: false });

test("queues purged behind the system's back cost every delivery half a minute, and lose none", async () => {
  const { api, receiver, emitter, herald, clock, broker } = journey;
  const { endpoint } = await api.create({ url: receiver.url });
  const events = Array.from({ length: 40 }, () => journey.event());
  for (const event of events) await emitter.emit(event);
  const queue = names(broker.namespace).firstHintsQueue;
  const connection = await connect(broker.url);
  try {
    const channel = await connection.createChannel();
    await eventually(async () => expect((await channel.checkQueue(queue)).messageCount).toBe(40));
    expect((await channel.purgeQueue(queue)).messageCount).toBe(40);
  } finally {
    await connection.close();
  }

  await herald.startDispatcher();
  clock.advance(29_000);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(receiver.requests).toHaveLength(0);
  clock.advance(2_000);
  await receiver.received(40);
  await eventually(async () =>
    expect((await api.get(endpoint.id)).deliveries.filter(({ succeeded }) => succeeded)).toHaveLength(40),
  );
  expect(new Set(receiver.requests.map(({ body }) => JSON.parse(body.toString()).id)).size).toBe(40);
});
