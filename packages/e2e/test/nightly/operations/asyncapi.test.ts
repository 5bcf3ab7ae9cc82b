import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { declareTopology, names } from "@herald/common/broker/topology";
import { ownerOf } from "@herald/common/database/shards";
import { eventually } from "@herald/dev/harness/eventually";
import { ownShards } from "@herald/dev/harness/rows";
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

/** Holds a real message to a message of that channel in the document; to its only one where none is named. */
function expectDocumented(
  channel: string,
  { content, properties }: Pick<Message, "content" | "properties">,
  messageName?: string,
): void {
  const names = Object.keys(document.channels[channel]?.messages ?? {});
  const name = messageName ?? (names.length === 1 ? names[0] : undefined) ?? "";
  expect(names).toContain(name);
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
  const { api, broker, db, emitter, herald, receiver } = environment;
  const own = names(broker.namespace);
  const connection = await connect(broker.url);
  try {
    const channel = await connection.createChannel();
    const tap = async (exchange: string, key = "#") => {
      const { queue } = await channel.assertQueue("", { exclusive: true });
      await channel.bindQueue(queue, exchange, key);
      return queue;
    };
    const events = await tap(own.eventsExchange);
    const notices = await tap(own.noticesExchange);
    // In place of a dispatcher; none runs yet.
    await declareTopology(channel, broker.namespace);
    const owner = randomUUID();
    await ownShards(db.database.prisma, owner);
    const handOvers = await tap(own.dispatchExchange, owner);
    const requests = await tap(own.requestsExchange, owner);
    const { endpoint } = await api.create({ url: receiver.url });

    await emitter.emit(environment.event(), { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" });
    const event = await next(channel, events);
    expect(event.properties.headers?.traceparent).toBeDefined();
    expectDocumented("businessEvents", event);
    expectDocumented("handOvers", await next(channel, handOvers));
    await api.edit(endpoint.id, { name: "another" });
    expectDocumented("requests", await next(channel, requests), "endpointChanged");

    channel.publish(own.eventsExchange, "RiskCreated", Buffer.from('{"type":"RiskCreated"}'));
    const rejected = await next(channel, own.rejectedQueue);
    expect(rejected.properties.headers?.["x-herald-reason"]).toBeDefined();
    expectDocumented("rejectedEvents", rejected);

    // No dispatcher is there to take the request. The test reads it first, and sends it to one later.
    const delivering = api.deliver(endpoint.id, "WorkItemCompleted", '{"a":1}');
    const request = await next(channel, requests);
    expectDocumented("requests", request, "manualRequest");

    await herald.startDispatcher();
    const dispatcher = await eventually(async () => {
      const found = await ownerOf(db.database.queries, endpoint.id);
      if (found === null || found === owner) throw new Error("No dispatcher has taken the shard.");
      return found;
    });
    const answers: Message[] = [];
    await channel.consume("amq.rabbitmq.reply-to", (answer) => answer && answers.push(answer), { noAck: true });
    channel.publish(own.requestsExchange, dispatcher, request.content, { replyTo: "amq.rabbitmq.reply-to" });
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
