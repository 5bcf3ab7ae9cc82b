import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isProbe, PROBE } from "@herald/common/broker/topology";
import { within } from "@herald/common/runtime/repeat";
import { reasonOf } from "@herald/common/security/connection-fault";
import type { ChannelModel } from "amqplib";
import { ACCESS_REFUSED, messagesIn, NOT_FOUND, onChannel, replyCodeOf } from "../connections.ts";
import { plural } from "../output.ts";
import { type BrokerSubject, confirmed, DEFAULT_EXCHANGE, lackingRight, lackingRights } from "./as-service.ts";
import { ANSWER_MS, type Check, type Finding, fault, ok } from "./finding.ts";

/** The broker's own product and version. amqplib's types lack them. */
export function greetingOf({ connection }: ChannelModel): { product?: string; version?: string } {
  return (connection as unknown as { serverProperties: ReturnType<typeof greetingOf> }).serverProperties;
}

export function brokerFinding({ product = "unknown", version = "" }: { product?: string; version?: string }): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (product === "RabbitMQ" && (major > 3 || (major === 3 && minor >= 10))) return ok(`RabbitMQ ${version}`);
  return fault(
    `It is ${product} ${version}; Herald needs RabbitMQ 3.10 or newer.`,
    "Upgrade it, or point AMQP_URL at one: older ones can lose a rejected event, and others have no quorum queues.",
  );
}

export const BLOCKED = fault(
  "The broker takes no messages: its memory or disk alarm is set.",
  "See which one: rabbitmq-diagnostics alarms. Give it memory or disk; events wait with their emitters meanwhile.",
);

/**
 * Whether the broker takes no messages at all. While its memory or disk alarm is set, it stops reading from a connection that has
 * published: it then answers nothing more on it, not even a close.
 */
export async function isBlocked(connection: ChannelModel): Promise<boolean> {
  const blocked = new Promise<true>((resolve) => connection.once("blocked", () => resolve(true)));
  // The check "rights and policies" reports missing rights.
  const confirm = onChannel(connection, (channel) =>
    confirmed(channel, DEFAULT_EXCHANGE, `herald.doctor.${randomUUID()}`),
  ).catch(() => undefined);
  return (await within(ANSWER_MS, Promise.race([confirm, blocked]), true)) === true;
}

/** An event has at most 256 KiB, with its headers beside. Small messages are for limits of their number. */
const SIZES = [...Array(3).fill(300 * 1024), ...Array(500).fill(1)];
const PROBE_MS = 1_000;

/** Does with a queue of its own what Herald does with its queues: makes it, sends to it, finds the messages a second later. */
export const probe: Check<BrokerSubject> = {
  name: "rights and policies",
  async examine(subject) {
    const { connection, namespace, vhost, service } = subject;
    const lacking = service === undefined ? [] : await lackingRights(subject, service);
    // Only publishers have queues that are not their own.
    if (lacking.length > 0 || (service ?? "publisher") !== "publisher") return lacking;
    // Its name begins as those of the inbox, so that the same policies and the same rights are for it.
    const queue = `${namespace}.events.inbox.doctor.${randomUUID()}`;
    let step = "configure";
    try {
      return await onChannel(connection, async (channel) => {
        // It goes by itself if this process ends in the middle.
        await channel.assertQueue(queue, { arguments: { "x-queue-type": "quorum", "x-expires": 60_000 } });
        step = "write to the default exchange";
        for (const bytes of SIZES.slice(0, 3)) await confirmed(channel, DEFAULT_EXCHANGE, queue, { bytes });
        channel.setMaxListeners(SIZES.length + 10);
        await Promise.all(SIZES.slice(3).map((bytes) => confirmed(channel, DEFAULT_EXCHANGE, queue, { bytes })));
        step = "read";
        await sleep(PROBE_MS);
        const { messageCount } = await channel.checkQueue(queue);
        await channel.get(queue, { noAck: true });
        if (messageCount === SIZES.length) return [];
        return policyFinding(`of ${SIZES.length} that were sent to a queue, ${messageCount} were there later`, vhost);
      });
    } catch (error) {
      return probeFinding(error, step, subject);
    } finally {
      await onChannel(connection, (channel) => channel.deleteQueue(queue)).catch(() => undefined);
    }
  },
};

function policyFinding(what: string, vhost: string): Finding {
  return fault(
    `A policy loses messages: ${what}.`,
    `See rabbitmqctl list_policies --vhost ${vhost} and list_operator_policies; none of message-ttl, max-length, max-length-bytes and expires may be for Herald's queues.`,
  );
}

/** @param right what the refused step takes */
export function probeFinding(
  error: unknown,
  right: string,
  { namespace, vhost, user, service }: Pick<BrokerSubject, "namespace" | "vhost" | "user" | "service">,
): Finding {
  const code = replyCodeOf(error);
  const reason = reasonOf(error);
  if (code === ACCESS_REFUSED) {
    if (service !== undefined) return lackingRight(service, `${right}, on what begins with "${namespace}."`);
    const name = namespace.replaceAll(".", "\\.");
    return fault(
      `The user of AMQP_URL lacks the right to ${right}, on what begins with "${namespace}.".`,
      `\`rabbitmqctl set_permissions --vhost ${vhost} ${user} '^${name}\\.' '^(${name}\\..*|amq\\.default)$' '^${name}\\.'\``,
    );
  }
  if (/limit in vhost|queue limit/i.test(reason)) {
    return fault(
      `The virtual host ${vhost} may have no more queues: ${reason}.`,
      `Raise its limit, or take it away: \`rabbitmqctl clear_vhost_limits --vhost ${vhost}\`; the user's by rabbitmqctl clear_user_limits`,
    );
  }
  if (/message size/.test(reason)) {
    return fault(
      "The broker refuses messages of 300 KiB; an event may have 256 KiB, with headers beside.",
      "Set max_message_size = 1048576 in rabbitmq.conf.",
    );
  }
  // A queue that refuses a message says nothing.
  if (code === undefined) return policyFinding("the broker refused one that was sent to a queue", vhost);
  return fault(`A queue of the doctor's own can't be used: ${reason}.`, "Look for this message in the broker's log.");
}

/**
 * Sends a message through the binding of each inbox queue that is there: services make the others. A publisher drops it; if none is at work, it is
 * taken out again.
 */
export const inbox: Check<BrokerSubject> = {
  name: "inbox",
  async examine(subject) {
    const { connection, names, vhost } = subject;
    const publishers = (await subject.publishers) ?? Number.POSITIVE_INFINITY;
    const findings: Finding[] = [];
    for (const queue of names.inboxQueues) {
      try {
        const { consumerCount, messageCount } = await onChannel(connection, (channel) => channel.checkQueue(queue));
        if (consumerCount > publishers) {
          findings.push(
            fault(
              `The queue ${queue} has ${plural(consumerCount, "consumer")}, and ${plural(publishers, "publisher")} at work: another program takes events, or a publisher does not reach PostgreSQL.`,
              `See which one: rabbitmqctl list_consumers --vhost ${vhost} queue_name channel_pid. End it, or give each Herald a BROKER_NAMESPACE of its own.`,
            ),
          );
        }
        // A message behind events that nothing takes would stay.
        if (consumerCount === 0 && messageCount > 0) continue;
        if (await reaches(subject, queue, consumerCount > 0)) continue;
        findings.push(
          fault(
            `No event reaches the queue ${queue}: a binding between ${names.eventsExchange} and the queue is missing.`,
            "Restart the publishers, which bind it again.",
          ),
        );
      } catch (error) {
        if (/no exchange/.test(reasonOf(error))) {
          const missing = `No event reaches Herald: the exchange ${names.eventsExchange} is missing.`;
          return [...findings, fault(missing, "Restart the publishers, which make it again.")];
        }
        // Not each service's user may look at a queue, or publish to it.
        if (![NOT_FOUND, ACCESS_REFUSED].includes(replyCodeOf(error) ?? 0)) throw error;
      }
    }
    return findings.length > 0 ? findings : await messages(subject).catch(() => []);
  },
};

/** Says how many messages wait. @throws if the user may not look at a queue */
async function messages({ connection, names }: BrokerSubject): Promise<Finding> {
  const [events, dead, rejected] = await Promise.all(
    [[...names.inboxQueues, ...names.behindQueues], [names.deadLetterQueue], [names.rejectedQueue]].map((queues) =>
      messagesIn(connection, queues),
    ),
  );
  return ok(`Messages: ${events} to be stored, ${dead} set aside, ${rejected} rejected.`);
}

/** Whether a message reaches an inbox queue by its bucket's key. */
function reaches({ connection, names }: BrokerSubject, queue: string, isConsumed: boolean): Promise<boolean> {
  return onChannel(connection, async (channel) => {
    let isReturned = false;
    channel.on("return", () => {
      isReturned = true;
    });
    const key = `doctor.${queue.slice(queue.lastIndexOf(".") + 1)}`;
    await confirmed(channel, names.eventsExchange, key, { mandatory: true, ...PROBE });
    if (isReturned || isConsumed) return !isReturned;
    const found = await channel.get(queue);
    if (found === false) return false;
    // An event that arrived during the check goes back.
    if (isProbe(found.properties.headers, found.content)) channel.ack(found);
    else channel.nack(found);
    return true;
  });
}
