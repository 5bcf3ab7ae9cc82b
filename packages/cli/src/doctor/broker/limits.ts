import { randomUUID } from "node:crypto";
import type { ChannelModel } from "amqplib";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, warning } from "../finding.ts";
import { type BrokerSubject, greetingOf, onChannel, PRECONDITION_FAILED, replyCodeOf } from "./subject.ts";

/** An event has 256 KiB at the most, with its headers. */
const EVENT_BYTES = 300 * 1024;
/** As deploy/docker/rabbitmq.conf has both. */
const MAX_MESSAGE_BYTES = 1024 ** 2;
const MAX_FRAME_BYTES = 16_384;
const CONFIRM_TIMEOUT_MS = 10_000;

export interface Limits {
  takesEvents: Answer;
  takesLargeMessages: Answer;
  frameMax: number;
}

/** What became of a message: "blocked" where the broker takes none for now. */
type Answer = "taken" | "too large" | "blocked";

/** The limit on messages can't be asked for. So messages of two sizes are sent to a queue that does not exist, and dropped. */
export const limits: Check<BrokerSubject> = {
  name: "broker's limits",
  async examine({ connection }) {
    const takesEvents = await send(connection, EVENT_BYTES);
    const takesLargeMessages = takesEvents === "taken" ? await send(connection, MAX_MESSAGE_BYTES + 1) : takesEvents;
    return limitsFindings({ takesEvents, takesLargeMessages, frameMax: greetingOf(connection).frameMax });
  },
};

async function send(connection: ChannelModel, bytes: number): Promise<Answer> {
  const queue = `herald.doctor.${randomUUID()}`;
  return await onChannel(connection, async (channel) => {
    let onBlocked = () => {};
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Answer>((resolve, reject) => {
        onBlocked = () => resolve("blocked");
        connection.once("blocked", onBlocked);
        timer = setTimeout(onBlocked, CONFIRM_TIMEOUT_MS);
        channel.once("error", (error) =>
          replyCodeOf(error) === PRECONDITION_FAILED ? resolve("too large") : reject(error),
        );
        channel.sendToQueue(queue, Buffer.alloc(bytes), {}, (error) => (error ? undefined : resolve("taken")));
      });
    } finally {
      connection.off("blocked", onBlocked);
      clearTimeout(timer);
    }
  });
}

export function limitsFindings({ takesEvents, takesLargeMessages, frameMax }: Limits): Finding[] {
  if (takesEvents === "blocked") {
    return [
      fault(
        "The broker takes no messages: its memory or disk alarm is set.",
        "See which one: rabbitmq-diagnostics alarms. Give it memory or disk; events wait with their emitters meanwhile.",
      ),
    ];
  }
  if (takesEvents === "too large") {
    return [
      fault(
        `The broker refuses messages of ${EVENT_BYTES / 1024} KiB; an event may have 256 KiB, with headers beside.`,
        `Set max_message_size = ${MAX_MESSAGE_BYTES} in rabbitmq.conf.`,
      ),
    ];
  }
  const findings: Finding[] = [];
  const provider = "Where the provider sets it, let only services that you trust publish.";
  if (takesLargeMessages === "taken") {
    findings.push(
      warning(
        "The broker takes messages of more than 1 MiB: who may publish could fill the publishers' memory.",
        `Set max_message_size = ${MAX_MESSAGE_BYTES} in rabbitmq.conf. ${provider}`,
      ),
    );
  }
  if (frameMax > MAX_FRAME_BYTES) {
    findings.push(
      warning(
        `A frame may have ${frameMax} bytes: headers as large as that can be nested so deep that they end a publisher's connection.`,
        `Set frame_max = ${MAX_FRAME_BYTES} in rabbitmq.conf. ${provider}`,
      ),
    );
  }
  return findings.length > 0 ? findings : [ok("max_message_size and frame_max are as Herald wants them.")];
}
