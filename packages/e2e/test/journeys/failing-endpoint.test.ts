import { randomUUID } from "node:crypto";
import { names } from "@herald/common/broker/topology";
import { eventKey } from "@herald/common/database/ids";
import type { EndpointNotice } from "@herald/contracts";
import { noticeSchema } from "@herald/contracts/schemas";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import addFormatsModule from "ajv-formats";
import { connect } from "amqplib";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();

const ajv = new Ajv({ strict: true, allowUnionTypes: true });
(addFormatsModule as unknown as typeof addFormatsModule.default)(ajv);
const validate = ajv.compile<EndpointNotice>(noticeSchema);

test("§3.1/several §3.1/failures §8/disabling §3.1/resume §6.4 five failures over several deliveries disable; nothing more is sent; a resume sends what was left and what happened meanwhile", async () => {
  const { api, receiver, emitter, clock, db } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 503 });

  // Three deliveries: three first attempts, then two of their retries make five failures.
  const failing = [environment.event(), environment.event(), environment.event()];
  for (const [index, event] of failing.entries()) {
    await emitter.emit(event);
    await environment.rested(endpoint.id, index + 1);
  }
  expect(await api.get(endpoint.id)).toMatchObject({ enabled: true, consecutiveFailures: 3 });
  await environment.advanceToNextAttempts(endpoint.id);
  await environment.rested(endpoint.id, 4);
  const disabled = await eventually(async () => {
    const found = await api.get(endpoint.id);
    expect(found.enabled).toBe(false);
    return found;
  });
  expect(disabled.consecutiveFailures).toBe(5);
  expect(disabled.version).not.toBe(endpoint.version);
  await environment.settled();

  // One at five attempts, from before, stays as it is.
  await db.database.prisma.delivery.create({
    data: {
      endpointId: endpoint.id,
      organizationId: api.organizationId,
      eventType: "WorkItemCompleted",
      body: "{}",
      state: "exhausted",
      attemptCount: 5,
      createdAt: clock.now(),
    },
  });

  const sent = receiver.requests.length;
  const meanwhile = [environment.event(), environment.event()];
  for (const event of meanwhile) await emitter.emit(event);
  const { organizationId } = api;
  await eventually(async () =>
    expect(await db.database.prisma.businessEvent.count({ where: { organizationId } })).toBe(5),
  );
  clock.advance(20 * 60_000);
  await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ parked: 3, exhausted: 1 }));
  expect(receiver.requests).toHaveLength(sent);

  receiver.answerWith({ status: 200 });
  const resumed = await api.edit(endpoint.id, { enabled: true });
  expect(resumed.endpoint).toMatchObject({ enabled: true, consecutiveFailures: 0 });
  await receiver.received(sent + 5);
  await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ succeeded: 5, exhausted: 1 }));
  const ids = receiver.requests.slice(sent).map(({ body }) => JSON.parse(body.toString()).id);
  expect(ids.sort()).toEqual([...failing, ...meanwhile].map(({ id }) => id).sort());
  expect((await api.get(endpoint.id)).enabled).toBe(true);
});

test("§3.1/resume §6.4 an event whose fan-out began before a resume and ends after its catch-up is found by the second look", async () => {
  const { api, receiver, clock, db } = environment;
  const { organizationId } = api;
  const { endpoint } = await api.create({ url: receiver.url, enabled: false });
  const [id, occurredAt] = [randomUUID(), clock.now()];
  await db.database.prisma.$transaction(
    async (transaction) => {
      // It saw the endpoint as it was before the resume, and so made no delivery for it.
      await transaction.businessEvent.create({
        data: {
          organizationId,
          key: eventKey(organizationId, id, occurredAt),
          id,
          type: "WorkItemCompleted",
          entityId: randomUUID(),
          occurredAt,
          receivedAt: occurredAt,
          body: JSON.stringify({ id }),
        },
      });
      await api.edit(endpoint.id, { enabled: true });
      await environment.caughtUp(endpoint.id);
    },
    { timeout: 120_000 },
  );
  expect(await environment.states(endpoint.id)).toEqual({});
  // The second look comes when every statement from before the resume has ended: a minute later, by the services' clock.
  clock.advance(60_000);
  await eventually(async () => expect(await environment.states(endpoint.id)).toEqual({ succeeded: 1 }));
  expect(receiver.requests.map(({ body }) => JSON.parse(body.toString()).id)).toEqual([id]);
});

test("the product hears of an endpoint that fails, and of its disabling, with the attempts behind both", async () => {
  const { api, receiver, emitter, broker } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 500 });
  const product = await connect(broker.url);
  try {
    const channel = await product.createChannel();
    const { queue } = await channel.assertQueue("", { exclusive: true });
    await channel.bindQueue(queue, names(broker.namespace).noticesExchange, "endpoint.*");
    const notices: EndpointNotice[] = [];
    await channel.consume(queue, (message) => message && notices.push(JSON.parse(message.content.toString())), {
      noAck: true,
    });

    for (let failures = 1; failures <= 5; failures++) {
      await emitter.emit(environment.event());
      await environment.rested(endpoint.id, failures);
    }
    await eventually(() => expect(notices.map(({ type }) => type)).toEqual(["endpoint.failing", "endpoint.disabled"]));

    for (const notice of notices) {
      expect(validate(notice)).toBe(true);
      expect(notice).toMatchObject({
        organizationId: api.organizationId,
        endpoint: { id: endpoint.id, name: endpoint.name, origin: new URL(receiver.url).origin },
      });
    }
    const runs = notices.flatMap((notice) => ("consecutiveFailures" in notice ? [notice] : []));
    expect(runs.map(({ consecutiveFailures }) => consecutiveFailures)).toEqual([3, 5]);
    const attempts = runs[1]?.attempts ?? [];
    expect(attempts).toHaveLength(5);
    expect(runs[0]?.attempts).toEqual(attempts.slice(0, 3));
    const sent = receiver.requests.map(({ headers }) => headers["x-service-delivery-id"]);
    expect(attempts.map(({ deliveryId }) => deliveryId).sort()).toEqual([...sent].sort());
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({ number: 1, statusCode: 500, eventType: "WorkItemCompleted" });
    }
  } finally {
    await product.close();
  }
});
