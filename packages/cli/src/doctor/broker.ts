import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { declaredQueues, type Names } from "@herald/common/broker/topology";
import type { ServiceName } from "@herald/common/database/rights";
import type { Channel, ChannelModel, ConfirmChannel } from "amqplib";
import type { BrokerAddress } from "../broker.ts";
import { reasonOf } from "../database.ts";
import { type Check, type Finding, fault, ok, plural } from "./finding.ts";

/** The broker as checks find it. */
export interface BrokerSubject extends Pick<BrokerAddress, "namespace" | "cell"> {
  connection: ChannelModel;
  names: Names;
  /** The virtual host, as rabbitmqctl names it. */
  vhost: string;
  /** Whose user it is; undefined for one user of all services. */
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
  let onBlocked = () => {};
  let timer: NodeJS.Timeout | undefined;
  const blocked = await new Promise<boolean>((resolve) => {
    onBlocked = () => resolve(true);
    connection.once("blocked", onBlocked);
    timer = setTimeout(onBlocked, CONFIRM_TIMEOUT_MS);
    // A user without the right to publish is another check's matter.
    channel.once("error", () => resolve(false));
    channel.sendToQueue(`herald.doctor.${randomUUID()}`, Buffer.alloc(0), {}, () => resolve(false));
  });
  connection.off("blocked", onBlocked);
  clearTimeout(timer);
  if (!blocked) await channel.close().catch(() => undefined);
  return blocked;
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

/** AMQP's number for why the broker refused something; undefined for other errors. */
function replyCodeOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "number" ? code : undefined;
}

const ACCESS_REFUSED = 403;
const NOT_FOUND = 404;
const PRECONDITION_FAILED = 406;

/**
 * Publishes a message and waits for the confirm. One that no queue takes is dropped.
 *
 * @throws the refusal, which closes the channel instead of a confirm; where a queue refuses the message
 */
function confirmed(
  channel: ConfirmChannel,
  exchange: string,
  routingKey: string,
  content = Buffer.from("doctor"),
): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.once("error", reject);
    channel.publish(exchange, routingKey, content, {}, (error: unknown) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

/** Where RabbitMQ puts replies to what a channel asks for. */
const REPLIES = "amq.rabbitmq.reply-to";
const DEFAULT_EXCHANGE = "";
/** As deploy/docker/rabbitmq.conf has it. */
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
    const isThere = await onChannel(connection, async (channel): Promise<Finding> => {
      const steps: [string, () => Promise<unknown>][] = [
        // It goes by itself, where this process ends in the middle.
        [
          "configure",
          () => channel.assertQueue(queue, { arguments: { "x-queue-type": "quorum", "x-expires": 60_000 } }),
        ],
        ["write to the default exchange", () => sendAll(channel, queue)],
        ["read replies", () => channel.consume(REPLIES, () => undefined, { noAck: true })],
      ];
      for (const [right, step] of steps) {
        try {
          await step();
        } catch (error) {
          if (replyCodeOf(error) !== ACCESS_REFUSED) return probeFinding(error, vhost);
          return rightsFinding(right, { namespace, vhost });
        }
      }
      await sleep(PROBE_MS);
      let found = 0;
      try {
        while (found < PROBE_MESSAGES && (await channel.get(queue, { noAck: true }))) found++;
      } catch (error) {
        if (replyCodeOf(error) === ACCESS_REFUSED) return rightsFinding("read", { namespace, vhost });
        return probeFinding(error, vhost);
      }
      return found === PROBE_MESSAGES
        ? ok(`The user may use what begins with "${namespace}.", and no policy takes messages out at once.`)
        : policyFinding(`of ${PROBE_MESSAGES} that were sent to a queue, ${found} were there after a second`, vhost);
    });
    await onChannel(connection, (channel) => channel.deleteQueue(queue)).catch(() => undefined);
    return isThere;
  },
};

async function sendAll(channel: ConfirmChannel, queue: string): Promise<void> {
  for (let sent = 0; sent < PROBE_MESSAGES; sent++)
    await confirmed(channel, DEFAULT_EXCHANGE, queue, Buffer.alloc(EVENT_BYTES));
}

function policyFinding(what: string, vhost: string): Finding {
  return fault(
    `A policy loses messages: ${what}.`,
    `See rabbitmqctl list_policies --vhost ${vhost} and list_operator_policies; none of message-ttl, max-length, max-length-bytes and expires may be for Herald's queues.`,
  );
}

export function probeFinding(error: unknown, vhost: string): Finding {
  const reason = reasonOf(error);
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
  if (replyCodeOf(error) === undefined) return policyFinding("the broker refused one that was sent to a queue", vhost);
  return fault(`A queue of the doctor's own can't be used: ${reason}.`, "Look for this message in the broker's log.");
}

function rightsFinding(refused: string, { namespace, vhost }: { namespace: string; vhost: string }): Finding {
  const name = namespace.replaceAll(".", "\\.");
  return fault(
    `The user of AMQP_URL lacks the right to ${refused}, on what begins with "${namespace}.".`,
    `rabbitmqctl set_permissions --vhost ${vhost} USER '^${name}\\.' '^(${name}\\..*|amq\\.default)$' '^(${name}\\..*|amq\\.rabbitmq\\.reply-to.*)$'`,
  );
}

/** What a service writes to. What it reads can't be tried without taking it. */
async function serviceRights(connection: ChannelModel, names: Names, service: ServiceName): Promise<Finding[]> {
  const exchanges =
    service === "management-api" ? [names.requestsExchange] : [DEFAULT_EXCHANGE, names.dispatchExchange];
  const findings: Finding[] = [];
  for (const exchange of exchanges) {
    const refused = await onChannel(connection, (channel) => confirmed(channel, exchange, randomUUID())).then(
      () => false,
      // An exchange that is not there yet is not refused for want of a right.
      (error: unknown) => replyCodeOf(error) === ACCESS_REFUSED,
    );
    if (!refused) continue;
    findings.push(
      fault(
        `The broker user of the ${service} may not write to ${exchange || "the default exchange"}.`,
        "Give it the rights that deploy/rabbitmq/rights.json has for it, as docs/operating/rabbitmq.md says.",
      ),
    );
  }
  return findings.length > 0 ? findings : [ok(`The user may write to what the ${service} writes to.`)];
}

export const queues: Check<BrokerSubject> = {
  name: "queues and exchanges",
  async examine({ connection, names, namespace, cell, vhost }) {
    const declared = declaredQueues(namespace, cell);
    const exchanges = [
      { exchange: names.eventsExchange, type: "topic" },
      { exchange: names.noticesExchange, type: "topic" },
      { exchange: names.dispatchExchange, type: "direct" },
      { exchange: names.requestsExchange, type: "direct" },
    ];
    const things = [
      ...exchanges.map(({ exchange, type }) => ({
        what: `exchange ${exchange}`,
        remedy:
          "Delete it in RabbitMQ's management; the next start makes it anew. Bindings of others to it have to be made again.",
        look: (channel: Channel): Promise<unknown> => channel.checkExchange(exchange),
        declare: (channel: Channel): Promise<unknown> => channel.assertExchange(exchange, type, { durable: true }),
      })),
      ...declared.map(({ queue, options }) => ({
        what: `queue ${queue}`,
        remedy:
          "Let what declared it empty it (herald lag shows what waits there), then delete it; the next start makes it anew: " +
          `rabbitmqctl delete_queue --vhost ${vhost} --if-empty ${queue}`,
        look: (channel: Channel): Promise<unknown> => channel.checkQueue(queue),
        declare: (channel: Channel): Promise<unknown> => channel.assertQueue(queue, options),
      })),
    ];
    const findings: Finding[] = [];
    for (const { what, remedy, look, declare } of things) {
      try {
        // What is not there at all stays so: services make it.
        await onChannel(connection, look);
        await onChannel(connection, declare);
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
  return `${argument} is ${plain(current)}, and Herald declares ${plain(received)}`;
}

function plain(value = "unknown"): string {
  return value.replace(/^the value /, "").replace(/ of type .*$/, "");
}
