import { declaredQueues } from "@herald/common/broker/topology";
import type { Channel, ChannelModel, Options } from "amqplib";
import { reasonOf } from "../../database.ts";
import type { Check } from "../check.ts";
import { type Finding, fault, ok } from "../finding.ts";
import { plural } from "../report.ts";
import {
  ACCESS_REFUSED,
  type BrokerSubject,
  NOT_FOUND,
  onChannel,
  PRECONDITION_FAILED,
  replyCodeOf,
} from "./subject.ts";

export const queues: Check<BrokerSubject> = {
  name: "queues and exchanges",
  async examine({ connection, names, namespace, cell, vhost }) {
    const findings: Finding[] = [];
    const exchanges: [string, "topic" | "direct"][] = [
      [names.eventsExchange, "topic"],
      [names.noticesExchange, "topic"],
      [names.dispatchExchange, "direct"],
      [names.requestsExchange, "direct"],
    ];
    for (const [exchange, type] of exchanges) {
      const difference = await differenceOf(connection, {
        look: (channel) => channel.checkExchange(exchange),
        declare: (channel) => channel.assertExchange(exchange, type, { durable: true }),
      });
      if (difference) findings.push(exchangeFinding(exchange, difference));
    }
    const declared = declaredQueues(namespace, cell);
    for (const { queue, options } of declared) {
      const difference = await differenceOf(connection, questionsAbout(queue, options));
      if (difference) findings.push(queueFinding(queue, difference, vhost));
    }
    if (findings.length > 0) return findings;
    return ok(`None of the ${plural(declared.length, "queue")} is other than Herald declares it.`);
  },
};

interface Questions {
  look(channel: Channel): Promise<unknown>;
  declare(channel: Channel): Promise<unknown>;
}

function questionsAbout(queue: string, options: Options.AssertQueue): Questions {
  return {
    look: (channel) => channel.checkQueue(queue),
    declare: (channel) => channel.assertQueue(queue, options),
  };
}

/** What the broker says where it has something else under this name. What is not there at all stays so: services make it. */
async function differenceOf(connection: ChannelModel, { look, declare }: Questions): Promise<string | undefined> {
  try {
    await onChannel(connection, look);
    await onChannel(connection, declare);
    return undefined;
  } catch (error) {
    const code = replyCodeOf(error);
    // What this user may not declare, another service declares.
    if (code === NOT_FOUND || code === ACCESS_REFUSED) return undefined;
    if (code === PRECONDITION_FAILED) return wordsOf(reasonOf(error));
    throw error;
  }
}

/** "inequivalent arg 'x-queue-type' for queue ...: received 'quorum' but current is 'classic'", in fewer words. */
export function wordsOf(reason: string): string {
  const [, argument, comparison] = /inequivalent arg '([^']+)'.*: (received .*?)"?$/.exec(reason) ?? [];
  if (argument === undefined || comparison === undefined) return reason;
  const [, received, current] = /^received (.*) but current is (.*)$/.exec(comparison) ?? [];
  return `${argument} is ${plain(current)}, and Herald declares ${plain(received)}`;
}

function plain(value = "unknown"): string {
  return value.replace(/^the value /, "").replace(/ of type .*$/, "");
}

function queueFinding(queue: string, difference: string, vhost: string): Finding {
  return fault(
    `The queue ${queue} is another one: ${difference}. No service can work with it.`,
    "Let what declared it empty it (herald lag shows what waits there), then delete it; the next start makes it anew: " +
      `rabbitmqctl delete_queue --vhost ${vhost} --if-empty ${queue}`,
  );
}

function exchangeFinding(exchange: string, difference: string): Finding {
  return fault(
    `The exchange ${exchange} is another one: ${difference}. No service can work with it.`,
    "Delete it in RabbitMQ's management; the next start makes it anew. Bindings of others to it have to be made again.",
  );
}
