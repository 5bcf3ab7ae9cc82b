import { names } from "@herald/common/broker/topology";
import type { Notice } from "@herald/contracts";
import { noticeSchema } from "@herald/contracts/schemas";
import { eventually } from "@herald/testkit/harness/eventually";
import { expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import addFormatsModule from "ajv-formats";
import { connect } from "amqplib";
import { useJourney } from "./journey.ts";

const journey = useJourney();

const ajv = new Ajv({ strict: true, allowUnionTypes: true });
(addFormatsModule as unknown as typeof addFormatsModule.default)(ajv);
const validate = ajv.compile<Notice>(noticeSchema);

test("the product hears of an endpoint that fails, and of its disabling, with the attempts behind both", async () => {
  const { api, receiver, emitter, broker } = journey;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 500 });
  const product = await connect(broker.url);
  try {
    const channel = await product.createChannel();
    const { queue } = await channel.assertQueue("", { exclusive: true });
    await channel.bindQueue(queue, names(broker.namespace).noticesExchange, "endpoint.*");
    const notices: Notice[] = [];
    await channel.consume(queue, (message) => message && notices.push(JSON.parse(message.content.toString())), {
      noAck: true,
    });

    for (let index = 0; index < 5; index++) await emitter.emit(journey.event());
    await eventually(() => expect(notices.map(({ type }) => type)).toEqual(["endpoint.failing", "endpoint.disabled"]));

    for (const notice of notices) {
      expect(validate(notice)).toBe(true);
      expect(notice).toMatchObject({
        organizationId: api.organizationId,
        endpoint: { id: endpoint.id, name: endpoint.name, url: receiver.url },
      });
    }
    expect(notices.map(({ consecutiveFailures }) => consecutiveFailures)).toEqual([3, 5]);
    const attempts = notices[1]?.attempts ?? [];
    expect(attempts).toHaveLength(5);
    expect(notices[0]?.attempts).toEqual(attempts.slice(0, 3));
    const sent = receiver.requests.map(({ headers }) => headers["x-service-delivery-id"]);
    expect(attempts.map(({ deliveryId }) => deliveryId).sort()).toEqual([...sent].sort());
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({ number: 1, statusCode: 500, eventType: "WorkItemCompleted" });
    }
  } finally {
    await product.close();
  }
});
