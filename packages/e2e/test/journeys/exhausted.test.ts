import { names } from "@herald/common/broker/topology";
import { ownerOf } from "@herald/common/database/shards";
import type { DeliveryDetails, HandOver, ManualRequest } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { useTestEnvironment } from "./test-environment.ts";

// With this setting five failures of one delivery end the delivery, and do not disable the endpoint.
const environment = useTestEnvironment({ settings: { DISABLE_AFTER_FAILURES: "100" } });

test("§3.2/exhausted §8/attempts §3.2/no-replay §6.4 nothing sends an exhausted delivery again: no edit, pause, resume, catch-up, hand-over, manual request, nor its event once more", async () => {
  const { api, receiver, emitter, clock, broker, db } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 410 });
  const event = environment.event();
  await emitter.emit(event);
  for (const attempts of [1, 2, 3, 4]) {
    await receiver.received(attempts);
    await environment.settled();
    await environment.advanceToNextAttempts(endpoint.id);
  }
  await receiver.received(5);
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ exhausted: 1 }));
  const [exhausted] = (await api.get(endpoint.id)).deliveries;
  expect(exhausted).toMatchObject({ attemptCount: 5, statusCode: 410, succeeded: false });
  const details = await api.read<DeliveryDetails>(`/${endpoint.id}/deliveries/${exhausted?.id}`);
  expect(details).toMatchObject({ outcome: "exhausted", nextAttemptAtUtc: null });
  expect(details.attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);

  receiver.answerWith({ status: 200 });
  await api.edit(endpoint.id, { rotateSecret: true, events: ["RiskCreated"] });
  await api.edit(endpoint.id, { enabled: false });
  await api.edit(endpoint.id, { enabled: true, events: ["RiskCreated", "WorkItemCompleted"] });
  await emitter.emit(event);
  const connection = await connect(broker.url);
  const channel = await connection.createConfirmChannel();
  const { dispatchExchange, requestsExchange } = names(broker.namespace);
  const owner = (await ownerOf(db.database.queries, endpoint.id)) ?? "";
  const target = { endpointId: endpoint.id, organizationId: api.organizationId };
  const now = clock.now().toISOString();
  const handOver: HandOver = { stored: true, events: [], deliveries: [], work: [target] };
  channel.publish(dispatchExchange, owner, Buffer.from(JSON.stringify(handOver)));
  const request: ManualRequest = { kind: "manual", deliveryId: exhausted?.id ?? "", ...target, dueAtUtc: now };
  channel.publish(requestsExchange, owner, Buffer.from(JSON.stringify(request)));
  await channel.waitForConfirms();
  await connection.close();
  clock.advance(26 * 60 * 60_000);

  // The last event has passed everything that came before it.
  const last = environment.event();
  await emitter.emit(last);
  await receiver.received(6);
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ exhausted: 1, succeeded: 1 }));
  await environment.caughtUp(endpoint.id);
  expect(receiver.requests).toHaveLength(6);
  expect((await api.get(endpoint.id)).deliveries).toContainEqual(exhausted);
});
