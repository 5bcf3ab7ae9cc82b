import { names } from "@herald/common/broker/topology";
import { eventually } from "@herald/testkit/harness/eventually";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { useJourney } from "./test-environment.ts";

const journey = useJourney();

test("§3.1/delete endpoints that come and go while events flow cost the one that stays nothing, and leave nothing behind", async () => {
  const { api, receiver, emitter, broker, db } = journey;
  const { endpoint } = await api.create({ url: `${receiver.url}/stays` });
  const emitted: string[] = [];
  async function emit(count: number): Promise<void> {
    const events = Array.from({ length: count }, () => journey.event());
    emitted.push(...events.map(({ id }) => id));
    await Promise.all(events.map((event) => emitter.emit(event)));
  }
  for (let round = 0; round < 5; round++) {
    const passing = await Promise.all([1, 2, 3].map(() => api.create({ url: `${receiver.url}/passes` })));
    const emitting = emit(20);
    await Promise.all(passing.map((created) => api.delete(created.endpoint.id)));
    await emitting;
  }
  await eventually(async () => expect(await journey.states(endpoint.id)).toEqual({ succeeded: emitted.length }));
  const arrived = receiver.requests.filter(({ path }) => path === "/stays").map(({ body }) => JSON.parse(`${body}`).id);
  expect(arrived.sort()).toEqual(emitted.sort());
  await journey.settled();
  const where = { organizationId: api.organizationId, endpointId: { not: endpoint.id } };
  expect(await db.database.prisma.delivery.count({ where })).toBe(0);
  const connection = await connect(broker.url);
  try {
    const channel = await connection.createChannel();
    expect((await channel.checkQueue(names(broker.namespace).rejectedQueue)).messageCount).toBe(0);
  } finally {
    await connection.close();
  }
}, 60_000);
