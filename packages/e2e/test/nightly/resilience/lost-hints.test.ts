import { declareHints, names } from "@herald/common/broker/topology";
import { eventually } from "@herald/dev/harness/eventually";
import { HINT_LEASE_MS } from "@herald/publisher/sql/store-events";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

const environment = useTestEnvironment({ dispatcher: false });

test("hints purged behind the system's back lose no delivery, and delay each by no more than its lease", async () => {
  const { api, receiver, emitter, herald, broker, db } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  const queue = names(broker.namespace).hintsQueue;
  const connection = await connect(broker.url);
  try {
    const channel = await connection.createChannel();
    // A dispatcher declares it; none runs yet.
    await declareHints(channel, broker.namespace);
    for (let index = 0; index < 40; index++) await emitter.emit(environment.event());
    await eventually(async () => expect((await api.get(endpoint.id)).deliveries).toHaveLength(40));
    // Some have expired in the queue by themselves, and only the leases to them are left.
    const due = await db.database.prisma.due.findMany({ where: { endpointId: endpoint.id } });
    const leased = due.filter(({ claimId, deliveryId }) => claimId === deliveryId);
    expect(leased.length).toBeGreaterThan(0);
    await channel.purgeQueue(queue);
  } finally {
    await connection.close();
  }

  // The leases to the lost hints end. Time stands still from here on: the look for what is due finds all of them.
  environment.clock.advance(HINT_LEASE_MS);
  await herald.startDispatcher();
  await receiver.received(40);
  await eventually(async () =>
    expect((await api.get(endpoint.id)).deliveries.filter(({ succeeded }) => succeeded)).toHaveLength(40),
  );
  expect(new Set(receiver.requests.map(({ body }) => JSON.parse(body.toString()).id)).size).toBe(40);
});
