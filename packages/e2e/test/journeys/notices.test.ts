import { names } from "@herald/common/broker/topology";
import { ownerOf } from "@herald/common/database/shards";
import type { DeliveryDetails, HandOver, ManualRequest, Notice, NoticeType } from "@herald/contracts";
import { noticeSchema } from "@herald/contracts/schemas";
import { eventually } from "@herald/dev/harness/eventually";
import type { EmittedEvent } from "@herald/emitter";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import addFormatsModule from "ajv-formats";
import { type Channel, type ChannelModel, connect } from "amqplib";
import { useTestEnvironment } from "./test-environment.ts";

// With this setting five failures of one delivery end the delivery, and do not disable the endpoint.
const environment = useTestEnvironment({ settings: { DISABLE_AFTER_FAILURES: "100" } });

const ajv = new Ajv({ strict: true, allowUnionTypes: true });
(addFormatsModule as unknown as typeof addFormatsModule.default)(ajv);
const validate = ajv.compile<Notice>(noticeSchema);

let product: ChannelModel;
let channel: Channel;
let notices: Notice[];

beforeEach(async () => {
  const { broker } = environment;
  notices = [];
  product = await connect(broker.url);
  channel = await product.createChannel();
  const { queue } = await channel.assertQueue("", { exclusive: true });
  await channel.bindQueue(queue, names(broker.namespace).noticesExchange, "#");
  await channel.consume(queue, (message) => message && notices.push(JSON.parse(message.content.toString())), {
    noAck: true,
  });
});
afterEach(() => product.close());

const arrived = (...types: NoticeType[]) => eventually(() => expect(notices.map(({ type }) => type)).toEqual(types));

/** Emits an event whose delivery fails five times. */
async function giveUp(endpointId: string): Promise<EmittedEvent> {
  const { receiver, emitter } = environment;
  receiver.answerWith({ status: 410 });
  const event = environment.event();
  await emitter.emit(event);
  for (const attempts of [1, 2, 3, 4]) {
    await receiver.received(attempts);
    await environment.settled();
    await environment.advanceToNextAttempts(endpointId);
  }
  await receiver.received(5);
  return event;
}

test("the product hears of what an endpoint gave up, of its recovery, and who resumed it, replaced its secret and deleted it", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint } = await api.create({ url: `${receiver.url}/hooks/path-token?key=query-token` });
  await giveUp(endpoint.id);
  await arrived("endpoint.failing", "endpoint.exhausted");
  receiver.answerWith({ status: 200 });
  await environment.rested(endpoint.id, 5);
  await emitter.emit(environment.event());
  await arrived("endpoint.failing", "endpoint.exhausted", "endpoint.recovered");
  await api.edit(endpoint.id, { enabled: false });
  await api.edit(endpoint.id, { enabled: true, rotateSecret: true });
  await api.delete(endpoint.id);
  await arrived(
    "endpoint.failing",
    "endpoint.exhausted",
    "endpoint.recovered",
    "endpoint.resumed",
    "endpoint.secret_replaced",
    "endpoint.deleted",
  );
  for (const notice of notices) {
    expect([notice.type, validate(notice), validate.errors]).toEqual([notice.type, true, null]);
    expect(notice).toMatchObject({
      organizationId: api.organizationId,
      endpoint: { id: endpoint.id, name: endpoint.name, origin: receiver.url },
    });
  }
  expect(notices[1]).toMatchObject({ deliveries: 1 });
  expect(notices[2]).toMatchObject({ consecutiveFailures: 5 });
  expect(notices[5]).toMatchObject({ author: { changedBy: "admin" } });
  expect(JSON.stringify(notices)).not.toContain("token");
});

test("§3.2/exhausted §8/attempts §3.2/no-replay §6.4 nothing sends an exhausted delivery again: no edit, pause, resume, catch-up, hand-over, manual request, nor its event once more", async () => {
  const { api, receiver, emitter, clock, broker, db } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  const event = await giveUp(endpoint.id);
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
  const sender = await product.createConfirmChannel();
  const { dispatchExchange, requestsExchange } = names(broker.namespace);
  const owner = (await ownerOf(db.database.queries, endpoint.id)) ?? "";
  const target = { endpointId: endpoint.id, organizationId: api.organizationId };
  const now = clock.now().toISOString();
  const handOver: HandOver = { stored: true, events: [], deliveries: [], work: [target] };
  sender.publish(dispatchExchange, owner, Buffer.from(JSON.stringify(handOver)));
  const request: ManualRequest = {
    ...{ kind: "manual", deliveryId: exhausted?.id ?? "", ...target, dueAtUtc: now, traceparent: null },
  };
  sender.publish(requestsExchange, owner, Buffer.from(JSON.stringify(request)));
  await sender.waitForConfirms();
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
