import { declareHints, names } from "@herald/common/broker/topology";
import { eventually } from "@herald/testkit/harness/eventually";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

const environment = useTestEnvironment({ dispatcher: false });

test("hints purged behind the system's back lose no delivery, and no delivery waits for the clock", async () => {
  const { api, receiver, emitter, herald, broker } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  const queue = names(broker.namespace).hintsQueue;
  const connection = await connect(broker.url);
  try {
    const channel = await connection.createChannel();
    // A dispatcher declares it; none runs yet.
    await declareHints(channel, broker.namespace);
    for (let index = 0; index < 40; index++) await emitter.emit(environment.event());
    await eventually(async () => expect((await api.get(endpoint.id)).deliveries).toHaveLength(40));
    expect((await channel.purgeQueue(queue)).messageCount).toBeGreaterThan(0);
  } finally {
    await connection.close();
  }

  // The time of the test stands still from here on: the look for what is due finds all of them.
  await herald.startDispatcher();
  await receiver.received(40);
  await eventually(async () =>
    expect((await api.get(endpoint.id)).deliveries.filter(({ succeeded }) => succeeded)).toHaveLength(40),
  );
  expect(new Set(receiver.requests.map(({ body }) => JSON.parse(body.toString()).id)).size).toBe(40);
});
