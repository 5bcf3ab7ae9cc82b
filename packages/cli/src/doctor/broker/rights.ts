import { randomUUID } from "node:crypto";
import type { Names } from "@herald/common/broker/topology";
import type { ServiceName } from "@herald/common/database/rights";
import type { ChannelModel, ConfirmChannel } from "amqplib";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, warning } from "../finding.ts";
import { ACCESS_REFUSED, type BrokerSubject, confirmed, onChannel, replyCodeOf } from "./subject.ts";

const REPLIES = "amq.rabbitmq.reply-to";

/**
 * The rights of a user of all services are tried on a queue of its own, which goes with its channel. Those of one service are tried on the
 * exchanges that it writes to, with a message that no queue takes; what it reads can't be tried without taking it.
 */
export const brokerRights: Check<BrokerSubject> = {
  name: "broker user's rights",
  async examine({ connection, names, namespace, vhost, service }) {
    if (service !== undefined) return serviceRightsFindings(service, await writesOf(connection, names, service));
    const queue = `${namespace}.doctor.${randomUUID()}`;
    const refused = await onChannel(connection, async (channel) => await firstRefusal(channel, queue));
    return rightsFinding(refused, { namespace, vhost });
  },
};

/** The rights in the order in which one needs the other. */
async function firstRefusal(channel: ConfirmChannel, queue: string): Promise<string | undefined> {
  const message = { routingKey: queue, content: Buffer.from("doctor") };
  const steps: [string, () => Promise<unknown>][] = [
    ["configure", () => channel.assertQueue(queue, { exclusive: true, autoDelete: true })],
    ["write to the default exchange", () => confirmed(channel, message)],
    ["read", () => channel.get(queue, { noAck: true })],
    ["read replies", () => channel.consume(REPLIES, () => undefined, { noAck: true })],
  ];
  for (const [right, step] of steps) {
    try {
      await step();
    } catch (error) {
      if (replyCodeOf(error) === ACCESS_REFUSED) return right;
      throw error;
    }
  }
  return undefined;
}

export function rightsFinding(
  refused: string | undefined,
  { namespace, vhost }: { namespace: string; vhost: string },
): Finding {
  if (refused === undefined) return ok(`The user may use what begins with "${namespace}.".`);
  const name = namespace.replaceAll(".", "\\.");
  return fault(
    `The user of AMQP_URL lacks the right to ${refused}, on what begins with "${namespace}.".`,
    `rabbitmqctl set_permissions --vhost ${vhost} USER '^${name}\\.' '^(${name}\\..*|amq\\.default)$' '^(${name}\\..*|amq\\.rabbitmq\\.reply-to.*)$'`,
  );
}

const DEFAULT_EXCHANGE = "the default exchange";

/** The exchanges that dispatchers believe, and the one by which every queue can be reached; and who writes to them. */
const WRITERS: readonly { exchangeOf: (names: Names) => string; services: readonly ServiceName[] }[] = [
  { exchangeOf: () => "", services: ["publisher", "dispatcher"] },
  { exchangeOf: ({ dispatchExchange }) => dispatchExchange, services: ["publisher", "dispatcher"] },
  { exchangeOf: ({ requestsExchange }) => requestsExchange, services: ["management-api"] },
];

export interface Write {
  exchange: string;
  /** Whether the service writes to it. */
  needed: boolean;
  allowed: boolean;
}

async function writesOf(connection: ChannelModel, names: Names, service: ServiceName): Promise<Write[]> {
  const writes: Write[] = [];
  for (const { exchangeOf, services } of WRITERS) {
    const exchange = exchangeOf(names);
    const message = { exchange, routingKey: `herald.doctor.${randomUUID()}`, content: Buffer.from("doctor") };
    const allowed = await onChannel(connection, (channel) => confirmed(channel, message)).then(
      () => true,
      // An exchange that is not there yet is not refused for want of a right.
      (error: unknown) => replyCodeOf(error) !== ACCESS_REFUSED,
    );
    writes.push({ exchange: exchange || DEFAULT_EXCHANGE, needed: services.includes(service), allowed });
  }
  return writes;
}

export function serviceRightsFindings(service: ServiceName, writes: readonly Write[]): Finding[] {
  const remedy = "Give it the rights that deploy/rabbitmq/rights.json has for it, as docs/operating/rabbitmq.md says.";
  const findings = writes.flatMap(({ exchange, needed, allowed }) => {
    if (needed === allowed) return [];
    if (needed) return [fault(`The broker user of the ${service} may not write to ${exchange}.`, remedy)];
    const what = `The broker user of the ${service} may write to ${exchange}, which it never does: a break-in into it could have anything sent.`;
    return [warning(what, remedy)];
  });
  return findings.length > 0 ? findings : [ok(`The user may write to what the ${service} writes to.`)];
}
