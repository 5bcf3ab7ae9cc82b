import { names } from "@herald/common/broker/topology";
import type { Notice, NoticeType } from "@herald/contracts";
import { noticeSchema } from "@herald/contracts/schemas";
import { eventually } from "@herald/dev/harness/eventually";
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

test("the product hears of what an endpoint gave up, of its recovery, and who resumed it, replaced its secret and deleted it", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint } = await api.create({ url: `${receiver.url}/hooks/path-token?key=query-token` });
  receiver.answerWith({ status: 410 });
  const event = environment.event();
  await emitter.emit(event);
  for (const attempts of [1, 2, 3, 4]) {
    await receiver.received(attempts);
    await environment.settled();
    await environment.advanceToNextAttempts(endpoint.id);
  }
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
