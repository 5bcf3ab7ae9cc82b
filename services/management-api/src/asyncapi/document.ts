import { names } from "@herald/common/broker/topology";
import { type Catalogue, MAX_EVENT_BYTES } from "@herald/contracts";
import {
  businessEventSchema,
  dataSchemaOf,
  endpointChangedSchema,
  handOverSchema,
  manualReplySchema,
  manualRequestSchema,
  noticeSchema,
  type Schema,
} from "@herald/contracts/schemas";
import { type Examples, examplesOf } from "./examples.ts";

interface DocumentOptions {
  /** The setting BROKER_NAMESPACE. */
  namespace: string;
  catalogue: Catalogue;
}

/** The AsyncAPI 3 document of this Herald as it is configured: everything that crosses the broker, made of the contracts' schemas. */
export function asyncApiDocument({ namespace, catalogue }: DocumentOptions) {
  const own = names(namespace);
  const examples = examplesOf(catalogue);
  const message = (name: MessageName, parts: object) => ({
    name,
    contentType: "application/json",
    ...parts,
    examples: examples[name],
  });
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Herald on the broker",
      version: "1.0.0",
      description: DESCRIPTION,
    },
    defaultContentType: "application/json",
    servers: {
      broker: {
        host: "rabbitmq.example.com:5671",
        protocol: "amqps",
        description: "RabbitMQ 3.10 or later. Each of Herald's users has its own rights; see docs/operating/deploy.md.",
      },
    },
    channels: {
      businessEvents: exchangeChannel(own.eventsExchange, "topic", ["businessEvent"], {
        title: "Business events",
        description: `Product services publish here; docs/emitting-events.md says with which routing key. ${Object.keys(catalogue).join(", ")} are delivered; other types are counted and ignored. Events in the form of CloudEvents 1.0 are taken too, in binary and in structured mode, as that page says. Persistent, mandatory, with publisher confirms.`,
      }),
      notices: exchangeChannel(own.noticesExchange, "topic", ["notice"], {
        title: "Notices",
        description:
          "For the product, which binds a queue of its own; the routing key is the notice's type. At least once: one that comes twice has the same id.",
      }),
      rejectedEvents: queueChannel(own.rejectedQueue, "rejectedEvent", {
        title: "Events that break the contract",
        description: "Kept until an operator replays or discards them: `herald rejected`.",
      }),
      handOvers: exchangeChannel(own.dispatchExchange, "direct", ["handOver"], {
        title: "Hand-overs",
        description: `Internal: from publishers to the dispatchers that own the endpoints' shards. ${TO_ONE_DISPATCHER}`,
      }),
      requests: exchangeChannel(own.requestsExchange, "direct", ["endpointChanged", "manualRequest"], {
        title: "Requests",
        description: `Internal: from the management API to the dispatchers that own the endpoints' shards. ${TO_ONE_DISPATCHER}`,
      }),
      manualReplies: {
        title: "Answers to manual requests",
        description: "RabbitMQ's direct reply-to (`amq.rabbitmq.reply-to`): the address is the request's `reply_to`.",
        address: null,
        messages: { manualReply: { $ref: "#/components/messages/manualReply" } },
      },
    },
    operations: {
      receiveBusinessEvent: operation(
        "receive",
        "businessEvents",
        "businessEvent",
        "Herald stores the event and fans it out.",
      ),
      sendNotice: operation("send", "notices", "notice", "Something happened that people of the product should know."),
      sendRejectedEvent: operation(
        "send",
        "rejectedEvents",
        "rejectedEvent",
        "An event can't be taken; the reason is in a header.",
      ),
      handOver: operation("send", "handOvers", "handOver", "Endpoints got deliveries.", TRANSIENT),
      receiveHandOver: operation(
        "receive",
        "handOvers",
        "handOver",
        "A dispatcher attempts the deliveries.",
        TRANSIENT,
      ),
      tellOfChange: operation("send", "requests", "endpointChanged", "An endpoint was changed or deleted.", TRANSIENT),
      requestManualDelivery: {
        ...operation("send", "requests", "manualRequest", "A caller waits for the first attempt of a manual delivery."),
        reply: {
          address: { location: "$message.header#/reply_to" },
          channel: { $ref: "#/channels/manualReplies" },
          messages: [{ $ref: "#/channels/manualReplies/messages/manualReply" }],
        },
      },
    },
    components: {
      messages: {
        businessEvent: message("businessEvent", {
          title: "Business event",
          summary: `At most ${MAX_EVENT_BYTES / 1024} KiB of UTF-8. The same organization, id and time again makes no second delivery. Older than seven days, it is counted and ignored; more than an hour ahead, it is rejected.`,
          headers: TRACE_HEADERS,
          payload: eventSchemaOf(catalogue),
        }),
        rejectedEvent: message("rejectedEvent", {
          title: "Rejected event",
          summary: "The message as it came, byte for byte. It may be something else than JSON.",
          headers: {
            type: "object",
            properties: {
              ...TRACE_HEADERS.properties,
              "x-herald-reason": { type: "string", description: "What is wrong with it." },
            },
          },
          payload: {},
        }),
        handOver: message("handOver", {
          title: "Hand-over",
          summary:
            "New deliveries with all that their attempts need, and endpoints that have more. Losing one loses no delivery.",
          payload: schemaOf(handOverSchema),
        }),
        endpointChanged: message("endpointChanged", {
          title: "Change of an endpoint",
          summary: "Names an endpoint that its owner has to read again.",
          payload: schemaOf(endpointChangedSchema),
        }),
        manualRequest: message("manualRequest", {
          title: "Manual request",
          summary: "Names a manual delivery whose first attempt somebody waits for.",
          headers: TRACE_HEADERS,
          payload: schemaOf(manualRequestSchema),
        }),
        manualReply: message("manualReply", {
          title: "Answer to a manual request",
          summary: "The first attempt was settled, or left for later. PostgreSQL has the result.",
          payload: schemaOf(manualReplySchema),
        }),
        notice: message("notice", {
          title: "Notice",
          summary:
            "A fact about an endpoint, which the product may tell the organization's admins; or an event that was rejected, for whoever emits.",
          payload: schemaOf(noticeSchema),
        }),
      },
    },
  };
}

const DESCRIPTION = `Made of the JSON schemas of Herald's contracts and of its catalogue of events; a Herald serves its own at /asyncapi.json.
"herald", the first part of every name, is the setting BROKER_NAMESPACE. Actions are Herald's: it receives business events and sends notices.
Formats are those of JSON Schema. Consumers tolerate unknown fields.`;

const TRACE_HEADERS = {
  type: "object",
  properties: {
    traceparent: { type: "string", description: "W3C trace context; it becomes part of the trace of each attempt." },
  },
};

type MessageName = keyof Examples;

/** Where a message for one dispatcher goes, and where not. */
const TO_ONE_DISPATCHER =
  "The routing key is the id of the dispatcher's process, which has one exclusive queue. What comes to the queue past the exchange is dropped.";

function exchangeChannel(
  name: string,
  type: "topic" | "direct",
  messageNames: readonly MessageName[],
  words: { title: string; description: string },
) {
  return {
    ...words,
    address: name,
    messages: Object.fromEntries(
      messageNames.map((messageName) => [messageName, { $ref: `#/components/messages/${messageName}` }]),
    ),
    bindings: {
      amqp: {
        is: "routingKey",
        exchange: { name, type, durable: true, autoDelete: false },
        bindingVersion: "0.3.0",
      },
    },
  };
}

function queueChannel(name: string, messageName: MessageName, words: { title: string; description: string }) {
  return {
    ...words,
    address: name,
    messages: { [messageName]: { $ref: `#/components/messages/${messageName}` } },
    bindings: {
      amqp: {
        is: "queue",
        queue: { name, durable: true, exclusive: false, autoDelete: false },
        bindingVersion: "0.3.0",
      },
    },
  };
}

const PERSISTENT = { deliveryMode: 2, mandatory: true, ack: true };
/** Neither stored on disk nor confirmed, and dropped where no queue takes it. */
const TRANSIENT = { deliveryMode: 1, mandatory: false, ack: true };

function operation(
  action: "send" | "receive",
  channel: string,
  messageName: MessageName,
  summary: string,
  handling = PERSISTENT,
) {
  return {
    action,
    summary,
    channel: { $ref: `#/channels/${channel}` },
    messages: [{ $ref: `#/channels/${channel}/messages/${messageName}` }],
    bindings: { amqp: { ...handling, bindingVersion: "0.3.0" } },
  };
}

/** An event of any type, with what the catalogue asks of the data of some. */
function eventSchemaOf(catalogue: Catalogue): Schema {
  const own = Object.keys(catalogue).filter((type) => catalogue[type]?.dataSchema !== undefined);
  const rules = own.map((type) => ({
    if: { properties: { type: { const: type } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { properties: { data: dataSchemaOf(type, catalogue) } },
  }));
  return { ...schemaOf(businessEventSchema), ...(rules.length > 0 && { allOf: rules }) };
}

/** The schema without its address, which nothing in the document refers to. */
function schemaOf(contract: object) {
  const { $id: _id, ...schema } = contract as { $id?: string };
  return schema;
}
