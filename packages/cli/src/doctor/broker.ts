import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { declaredQueues, type Names } from "@herald/common/broker/topology";
import type { ServiceName } from "@herald/common/database/rights";
import type { ChannelModel, ConfirmChannel } from "amqplib";
import { type BrokerAddress, reasonOf } from "../connections.ts";
import { plural } from "../output.ts";
import { type Check, type Finding, fault, ok } from "./finding.ts";

/** The broker as checks find it. */
interface BrokerSubject extends Pick<BrokerAddress, "namespace"> {
  connection: ChannelModel;
  names: Names;
  /** The virtual host, as rabbitmqctl names it. */
  vhost: string;
  /** The service that the broker's user belongs to; undefined for one user of all services. */
  service: ServiceName | undefined;
}

/** What the broker says of itself. Not in amqplib's types. */
export function greetingOf({ connection }: ChannelModel): { product?: string; version?: string } {
  return (connection as unknown as { serverProperties: ReturnType<typeof greetingOf> }).serverProperties;
}

const OLDEST = { major: 3, minor: 10 };

export function brokerFinding({ product = "unknown", version = "" }: { product?: string; version?: string }): Finding {
  if (product !== "RabbitMQ") {
    return fault(
      `The broker is ${product} ${version}, and not RabbitMQ.`,
      "Point AMQP_URL at a RabbitMQ: Herald relies on its quorum queues and their dead-lettering.",
    );
  }
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) return ok(`RabbitMQ ${version}`);
  return fault(
    `It is RabbitMQ ${version}; Herald needs ${OLDEST.major}.${OLDEST.minor} or newer.`,
    "Upgrade it; older ones can't move a rejected event without the risk of losing it.",
  );
}

export const BLOCKED = fault(
  "The broker takes no messages: its memory or disk alarm is set.",
  "See which one: rabbitmq-diagnostics alarms. Give it memory or disk; events wait with their emitters meanwhile.",
);
const CONFIRM_TIMEOUT_MS = 10_000;

/**
 * Whether the broker takes no messages at all. While its memory or disk alarm is set, it stops reading from a connection that has
 * published: it then answers nothing more on it, not even a close.
 */
export async function isBlocked(connection: ChannelModel): Promise<boolean> {
  const channel = await connection.createConfirmChannel();
  const confirm = confirmed(channel, DEFAULT_EXCHANGE, `herald.doctor.${randomUUID()}`).then(
    () => false,
    // A user without the right to publish is another check's matter.
    () => false,
  );
  const blocked = new Promise<true>((resolve) => connection.once("blocked", () => resolve(true)));
  const silent = sleep(CONFIRM_TIMEOUT_MS, true as const, { ref: false });
  const isIt = await Promise.race([confirm, blocked, silent]);
  if (!isIt) await channel.close().catch(() => undefined);
  return isIt;
}

/** Runs one question on a channel of its own, since the broker answers "no" by closing the channel. */
async function onChannel<T>(connection: ChannelModel, question: (channel: ConfirmChannel) => Promise<T>): Promise<T> {
  const channel = await connection.createConfirmChannel();
  // The question under way fails by itself; without a listener this event would end the process.
  channel.on("error", () => undefined);
  try {
    return await question(channel);
  } finally {
    await channel.close().catch(() => undefined);
  }
}

const ACCESS_REFUSED = 403;
const NOT_FOUND = 404;
const PRECONDITION_FAILED = 406;

/** AMQP's number for why the broker refused something; undefined for other errors. */
function replyCodeOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "number" ? code : undefined;
}

/**
 * Publishes a message and waits for the confirm. One that no queue takes is dropped.
 *
 * @throws the refusal, which closes the channel instead of a confirm; where a queue refuses the message
 */
function confirmed(channel: ConfirmChannel, exchange: string, key: string, bytes = 1): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.once("error", reject);
    channel.publish(exchange, key, Buffer.alloc(bytes), {}, (error: unknown) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

/** Where RabbitMQ puts replies to what a channel asks for. */
const REPLIES = "amq.rabbitmq.reply-to";
const DEFAULT_EXCHANGE = "";
/** The limit in deploy/docker/rabbitmq.conf. */
const MAX_MESSAGE_BYTES = 1024 ** 2;
/** An event has 256 KiB at the most, with its headers beside. */
const EVENT_BYTES = 300 * 1024;
const PROBE_MESSAGES = 3;
const PROBE_MS = 1_000;

/** Does with a queue of its own what Herald does with its queues: makes it, sends to it, finds the messages a second later. */
export const probe: Check<BrokerSubject> = {
  name: "rights and policies",
  async examine({ connection, names, namespace, vhost, service }) {
    if (service !== undefined) return await serviceRights(connection, names, service);
    // Its name begins as those of the inbox, so that the same policies and the same rights are for it.
    const queue = `${namespace}.events.doctor.${randomUUID()}`;
    const found = await onChannel(connection, async (channel): Promise<Finding> => {
      let there = 0;
      // It goes by itself, where this process ends in the middle.
      const options = { arguments: { "x-queue-type": "quorum", "x-expires": 60_000 } };
      const steps: [right: string, step: () => Promise<unknown>][] = [
        ["configure", () => channel.assertQueue(queue, options)],
        ...Array.from({ length: PROBE_MESSAGES }, (): (typeof steps)[number] => [
          "write to the default exchange",
          () => confirmed(channel, DEFAULT_EXCHANGE, queue, EVENT_BYTES),
        ]),
        ["read replies", () => channel.consume(REPLIES, () => undefined, { noAck: true })],
        [
          "read",
          async () => {
            await sleep(PROBE_MS);
            while (there < PROBE_MESSAGES && (await channel.get(queue, { noAck: true }))) there++;
          },
        ],
      ];
      for (const [right, step] of steps) {
        try {
          await step();
        } catch (error) {
          return probeFinding(error, { right, namespace, vhost });
        }
      }
      if (there === PROBE_MESSAGES)
        return ok(`The user may use what begins with "${namespace}.", and no policy takes messages out at once.`);
      return policyFinding(`of ${PROBE_MESSAGES} that were sent to a queue, ${there} were there after a second`, vhost);
    });
    await onChannel(connection, (channel) => channel.deleteQueue(queue)).catch(() => undefined);
    return found;
  },
};

function policyFinding(what: string, vhost: string): Finding {
  return fault(
    `A policy loses messages: ${what}.`,
    `See rabbitmqctl list_policies --vhost ${vhost} and list_operator_policies; none of message-ttl, max-length, max-length-bytes and expires may be for Herald's queues.`,
  );
}

/** @param step what was refused, by the right that it takes */
export function probeFinding(error: unknown, step: { right: string; namespace: string; vhost: string }): Finding {
  const { right, namespace, vhost } = step;
  const code = replyCodeOf(error);
  const reason = reasonOf(error);
  if (code === ACCESS_REFUSED) {
    const name = namespace.replaceAll(".", "\\.");
    return fault(
      `The user of AMQP_URL lacks the right to ${right}, on what begins with "${namespace}.".`,
      `rabbitmqctl set_permissions --vhost ${vhost} USER '^${name}\\.' '^(${name}\\..*|amq\\.default)$' '^(${name}\\..*|amq\\.rabbitmq\\.reply-to.*)$'`,
    );
  }
  if (/limit in vhost|queue limit/i.test(reason)) {
    return fault(
      `The virtual host ${vhost} may have no more queues: ${reason}.`,
      `Raise its limit: rabbitmqctl set_vhost_limits --vhost ${vhost} '{"max-queues": N}'; or the user's: rabbitmqctl set_user_limits`,
    );
  }
  if (/message size/.test(reason)) {
    return fault(
      `The broker refuses messages of ${EVENT_BYTES / 1024} KiB; an event may have 256 KiB, with headers beside.`,
      `Set max_message_size = ${MAX_MESSAGE_BYTES} in rabbitmq.conf.`,
    );
  }
  // A nack says nothing.
  if (code === undefined) return policyFinding("the broker refused one that was sent to a queue", vhost);
  return fault(`A queue of the doctor's own can't be used: ${reason}.`, "Look for this message in the broker's log.");
}

/** What a service writes to. What it reads can't be tried without taking it. */
async function serviceRights(connection: ChannelModel, names: Names, service: ServiceName): Promise<Finding[]> {
  const written: Readonly<Record<ServiceName, readonly string[]>> = {
    "management-api": [names.requestsExchange],
    publisher: [DEFAULT_EXCHANGE, names.dispatchExchange],
    dispatcher: [DEFAULT_EXCHANGE],
  };
  const findings: Finding[] = [];
  for (const exchange of written[service]) {
    const error = await onChannel(connection, (channel) => confirmed(channel, exchange, randomUUID())).catch(
      (error: unknown) => error,
    );
    // An exchange that is not there yet is not refused for want of a right.
    if (replyCodeOf(error) !== ACCESS_REFUSED) continue;
    findings.push(
      fault(
        `The broker user of the ${service} may not write to ${exchange || "the default exchange"}.`,
        "Give it the rights that deploy/rabbitmq/definitions.json has for it, as docs/operating/rabbitmq.md says.",
      ),
    );
  }
  return findings.length > 0 ? findings : [ok(`The user may write to what the ${service} writes to.`)];
}

export const queues: Check<BrokerSubject> = {
  name: "queues and exchanges",
  async examine({ connection, names, namespace, vhost }) {
    const declared = declaredQueues(namespace);
    const exchanges = {
      [names.eventsExchange]: "topic",
      [names.noticesExchange]: "topic",
      [names.dispatchExchange]: "direct",
      [names.requestsExchange]: "direct",
    };
    const ofExchange =
      "Delete it in RabbitMQ's management; the next start makes it anew. Bindings of others to it have to be made again.";
    const ofQueue =
      "Let what declared it empty it (herald lag shows what waits there), then delete it; the next start makes it anew: " +
      `rabbitmqctl delete_queue --vhost ${vhost} --if-empty`;
    // What is not there at all stays so: services make it.
    const things: [what: string, remedy: string, ...steps: ((channel: ConfirmChannel) => Promise<unknown>)[]][] = [
      ...Object.entries(exchanges).map(([name, type]): (typeof things)[number] => [
        `exchange ${name}`,
        ofExchange,
        (channel) => channel.checkExchange(name),
        (channel) => channel.assertExchange(name, type, { durable: true }),
      ]),
      ...declared.map(({ queue, options }): (typeof things)[number] => [
        `queue ${queue}`,
        `${ofQueue} ${queue}`,
        (channel) => channel.checkQueue(queue),
        (channel) => channel.assertQueue(queue, options),
      ]),
    ];
    const findings: Finding[] = [];
    for (const [what, remedy, ...steps] of things) {
      try {
        for (const step of steps) await onChannel(connection, step);
      } catch (error) {
        const code = replyCodeOf(error);
        // What this user may not declare, another service declares.
        if (code === NOT_FOUND || code === ACCESS_REFUSED) continue;
        if (code !== PRECONDITION_FAILED) throw error;
        findings.push(
          fault(`The ${what} is another one: ${wordsOf(reasonOf(error))}. No service can work with it.`, remedy),
        );
      }
    }
    if (findings.length > 0) return findings;
    return ok(`None of the ${plural(declared.length, "queue")} is other than Herald declares it.`);
  },
};

/** "inequivalent arg 'x-queue-type' for queue ...: received 'quorum' but current is 'classic'", in fewer words. */
export function wordsOf(reason: string): string {
  const [, argument, received, current] =
    /inequivalent arg '([^']+)'.*: received (.*) but current is (.*?)"?$/.exec(reason) ?? [];
  if (argument === undefined) return reason;
  const plain = (value = "unknown") => value.replace(/^the value /, "").replace(/ of type .*$/, "");
  return `${argument} is ${plain(current)}, and Herald declares ${plain(received)}`;
}
