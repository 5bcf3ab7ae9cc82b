import { setTimeout as sleep } from "node:timers/promises";
import { names } from "@herald/common/broker/topology";
import { eventually } from "@herald/testkit/harness/eventually";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

const environment = useTestEnvironment({ dispatcher: false });

test("queues purged behind the system's back cost every delivery half a minute, and lose none", async () => {
  const { api, receiver, emitter, herald, broker } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  const events = Array.from({ length: 40 }, () => environment.event());
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
  const dueAt = await environment.advanceToNextAttempts(endpoint.id, { beforeMs: 1_000 });
  expect(dueAt.getTime() - Date.parse(events[0]?.occurredAtUtc ?? "")).toBe(30_000);
  // A fixed time, to see that nothing comes: some looks for what is due pass meanwhile.
  await sleep(500);
  expect(receiver.requests).toHaveLength(0);
  await environment.advanceToNextAttempts(endpoint.id);
  await receiver.received(40);
  await eventually(async () =>
    expect((await api.get(endpoint.id)).deliveries.filter(({ succeeded }) => succeeded)).toHaveLength(40),
  );
  expect(new Set(receiver.requests.map(({ body }) => JSON.parse(body.toString()).id)).size).toBe(40);
});
