import { randomUUID } from "node:crypto";
import type { ConfirmChannel } from "amqplib";
import type { Check } from "../check.ts";
import { type Finding, fault, ok } from "../finding.ts";
import { ACCESS_REFUSED, type BrokerSubject, confirmed, onChannel, replyCodeOf } from "./subject.ts";

const REPLIES = "amq.rabbitmq.reply-to";

/** Tries each right on a queue of its own, which goes with its channel. */
export const brokerRights: Check<BrokerSubject> = {
  name: "broker user's rights",
  async examine({ connection, namespace, vhost }) {
    const queue = `${namespace}.doctor.${randomUUID()}`;
    const refused = await onChannel(connection, async (channel) => await firstRefusal(channel, queue));
    return rightsFinding(refused, { namespace, vhost });
  },
};

/** The rights in the order in which one needs the other. */
async function firstRefusal(channel: ConfirmChannel, queue: string): Promise<string | undefined> {
  const steps: [string, () => Promise<unknown>][] = [
    ["configure", () => channel.assertQueue(queue, { exclusive: true, autoDelete: true })],
    ["write to the default exchange", () => confirmed(channel, queue, Buffer.from("doctor"))],
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
