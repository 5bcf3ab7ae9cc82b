import { readFileSync } from "node:fs";
import { join } from "node:path";
import { declareHints, declareTopology, names } from "@herald/common/broker/topology";
import { eventually } from "@herald/dev/harness/eventually";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import addFormatsModule from "ajv-formats";
import { type Channel, connect, type GetMessage, type Message } from "amqplib";
import { parse } from "yaml";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

interface DocumentedChannel {
  address: string | null;
  messages: Record<string, { $ref: string }>;
}
interface Document {
  channels: Record<string, DocumentedChannel>;
  components: { messages: Record<string, { payload: object; headers?: object }> };
}

const document = parse(readFileSync(join(projectFolder(), "docs/asyncapi.yaml"), "utf8")) as Document;
const ajv = new Ajv({ strict: true, allowUnionTypes: true });
(addFormatsModule as unknown as typeof addFormatsModule.default)(ajv);

/** Holds a real message to the document's message of that channel. */
function expectDocumented(channel: string, { content, properties }: Pick<Message, "content" | "properties">): void {
  const [name = ""] = Object.keys(document.channels[channel]?.messages ?? {});
  const documented = document.components.messages[name];
  expect(documented).toBeDefined();
  const valid = ajv.compile(documented?.payload ?? false);
  valid(JSON.parse(content.toString()));
  expect([channel, valid.errors ?? []]).toEqual([channel, []]);
  const validHeaders = ajv.compile(documented?.headers ?? true);
  validHeaders(properties.headers ?? {});
  expect([channel, validHeaders.errors ?? []]).toEqual([channel, []]);
}

async function next(channel: Channel, queue: string): Promise<GetMessage> {
  return await eventually(async () => {
    const message = await channel.get(queue, { noAck: true });
    if (!message) throw new Error(`${queue} is empty`);
    return message;
  });
}

const environment = useTestEnvironment({ dispatcher: false });

test("each real message is as docs/asyncapi.yaml says", async () => {
  const { api, broker, emitter, herald, receiver } = environment;
  const own = names(broker.namespace);
  const connection = await connect(broker.url);
  try {
    const channel = await connection.createChannel();
    const tap = async (exchange: string) => {
      const { queue } = await channel.assertQueue("", { exclusive: true });
      await channel.bindQueue(queue, exchange, "#");
      return queue;
    };
    const events = await tap(own.eventsExchange);
    const notices = await tap(own.noticesExchange);
    // A dispatcher declares it; none runs yet.
    await declareTopology(channel, broker.namespace);
    await declareHints(channel, broker.namespace);
    const { endpoint } = await api.create({ url: receiver.url });

    await emitter.emit(environment.event(), { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" });
    const event = await next(channel, events);
    expect(event.properties.headers?.traceparent).toBeDefined();
    expectDocumented("businessEvents", event);
    expectDocumented("hints", await next(channel, own.hintsQueue));

    channel.publish(own.eventsExchange, "RiskCreated", Buffer.from('{"type":"RiskCreated"}'));
    const rejected = await next(channel, own.rejectedQueue);
    expect(rejected.properties.headers?.["x-herald-reason"]).toBeDefined();
    expectDocumented("rejectedEvents", rejected);

    // No dispatcher is there to take the request. The test reads it first, and then puts it back for one.
    const delivering = api.deliver(endpoint.id, "WorkItemCompleted", '{"a":1}');
    const request = await next(channel, own.manualQueue);
    expectDocumented("manualRequests", request);

    await herald.startDispatcher();
    const answers: Message[] = [];
    await channel.consume("amq.rabbitmq.reply-to", (answer) => answer && answers.push(answer), { noAck: true });
    channel.publish(own.requestsExchange, own.manualQueue, request.content, { replyTo: "amq.rabbitmq.reply-to" });
    await eventually(() => expect(answers).toHaveLength(1));
    expectDocumented("manualReplies", answers[0] as Message);
    await delivering;

    receiver.answerWith({ status: 500 });
    for (let failures = 1; failures <= 3; failures++) {
      await emitter.emit(environment.event());
      await environment.rested(endpoint.id, failures);
    }
    expectDocumented("notices", await next(channel, notices));
  } finally {
    await connection.close();
  }
});
