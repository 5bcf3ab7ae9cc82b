import { randomUUID } from "node:crypto";
import { declareOwnerQueue, declareTopology, type Names, ownerQueueOf } from "@herald/common/broker/topology";
import type { ServiceName } from "@herald/common/database/rights";
import { reasonOf } from "@herald/common/security/connection-fault";
import type { Channel, ChannelModel, ConfirmChannel, Options } from "amqplib";
import { ACCESS_REFUSED, NOT_FOUND, onChannel, replyCodeOf } from "../connections.ts";
import { type Check, type Finding, fault } from "./finding.ts";

export interface BrokerSubject {
  namespace: string;
  connection: ChannelModel;
  names: Names;
  /** The virtual host and the user of AMQP_URL, as rabbitmqctl names them. */
  vhost: string;
  user: string;
  /** The service that the broker's user belongs to; undefined for one user of all services. */
  service: ServiceName | undefined;
  /** How many publishers are at work; undefined if PostgreSQL does not say. */
  publishers: Promise<number | undefined> | undefined;
}

/** Waits for the confirm of a message that no queue need take. @throws the refusal, which closes the channel; without code, a queue's */
export function confirmed(
  channel: ConfirmChannel,
  exchange: string,
  key: string,
  { bytes = 1, content = Buffer.alloc(bytes), ...options }: { bytes?: number; content?: Buffer } & Options.Publish = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.once("error", reject);
    channel.publish(exchange, key, content, options, (error: unknown) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

export const DEFAULT_EXCHANGE = "";

// What a service does with the broker at its start and later, with the same statements.

export function lackingRight(service: ServiceName, right: string): Finding {
  return fault(
    `The broker user of the ${service} may not ${right}.`,
    "Give it the rights that deploy/rabbitmq/definitions.json has for it, as docs/operating/rabbitmq.md says.",
  );
}

type Try = readonly [right: string, attempt: (channel: ConfirmChannel) => Promise<unknown>];

export async function lackingRights(subject: BrokerSubject, service: ServiceName): Promise<Finding[]> {
  const { connection, names, namespace } = subject;
  const writeTo = (exchange: string): Try => [
    `write to ${exchange || "the default exchange"}`,
    (channel) => confirmed(channel, exchange, randomUUID()),
  ];
  const read = (channel: Channel, queue: string) => channel.consume(queue, () => undefined, { noAck: true });
  async function readOwnQueue(channel: Channel): Promise<void> {
    const id = randomUUID();
    await declareOwnerQueue(channel, namespace, id);
    await read(channel, ownerQueueOf(namespace, id));
  }
  const tries: Readonly<Record<ServiceName, readonly Try[]>> = {
    "management-api": [writeTo(names.requestsExchange)],
    publisher: [writeTo(DEFAULT_EXCHANGE), writeTo(names.dispatchExchange)],
    dispatcher: [writeTo(DEFAULT_EXCHANGE), ["declare, bind or read a queue of its own", readOwnQueue]],
  };
  const refused = await Promise.all(
    tries[service].map(async ([right, attempt]) => {
      const error = await onChannel(connection, attempt).catch((reason: unknown) => reason);
      // An exchange that is not there yet is not refused for want of a right.
      return replyCodeOf(error) === ACCESS_REFUSED ? [lackingRight(service, right)] : [];
    }),
  );
  return refused.flat();
}

/**
 * Declares what a service declares at its start, with its own arguments, so that the broker compares them. For one user of all services it declares
 * only what is there already, and so makes nothing.
 */
export const declarations: Check<BrokerSubject> = {
  name: "declarations",
  async examine({ connection, namespace, service, vhost }) {
    try {
      await onChannel(connection, (channel) =>
        declareTopology(service === undefined ? ofExisting(connection, channel) : channel, namespace, service),
      );
      return [];
    } catch (error) {
      const reason = reasonOf(error);
      if (replyCodeOf(error) === ACCESS_REFUSED && service)
        return lackingRight(service, `declare what it needs: ${reason}`);
      return fault(
        `${service ? `The ${service}` : "Herald"} can't declare what it needs, and does not get ready: ${reason}.`,
        `Something else has made the exchange or queue with other arguments. When a queue is empty, rabbitmqctl delete_queue --vhost ${vhost} NAME; publishers make it again.`,
      );
    }
  },
};

/** A channel that declares only what is there, and binds nothing. */
function ofExisting(connection: ChannelModel, channel: Channel): Channel {
  // Each question has a channel of its own, since a missing queue closes the channel.
  async function isThere(ask: (channel: Channel) => Promise<unknown>): Promise<boolean> {
    const error = await onChannel(connection, ask).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error !== undefined && replyCodeOf(error) !== NOT_FOUND) throw error;
    return error === undefined;
  }
  return Object.assign(Object.create(channel) as Channel, {
    async assertExchange(...args: Parameters<Channel["assertExchange"]>) {
      if (await isThere((own) => own.checkExchange(args[0]))) await channel.assertExchange(...args);
      return { exchange: args[0] };
    },
    async assertQueue(...args: Parameters<Channel["assertQueue"]>) {
      const [queue = ""] = args;
      if (await isThere((own) => own.checkQueue(queue))) await channel.assertQueue(...args);
      return { queue, messageCount: 0, consumerCount: 0 };
    },
    bindQueue: async () => ({}),
    bindExchange: async () => ({}),
  });
}
