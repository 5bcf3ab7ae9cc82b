import { randomUUID } from "node:crypto";
import type { ChannelModel } from "amqplib";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, skipped, warning } from "../finding.ts";
import { type BrokerSubject, confirmed, greetingOf, onChannel, PRECONDITION_FAILED, replyCodeOf } from "./subject.ts";

/** An event has 256 KiB at the most, with its headers beside. */
const EVENT_BYTES = 300 * 1024;
/** As deploy/docker/rabbitmq.conf has both. */
const MAX_MESSAGE_BYTES = 1024 ** 2;
const MAX_FRAME_BYTES = 16_384;

export interface Limits {
  takesEvents: boolean;
  takesLargeMessages: boolean;
  frameMax: number;
}

/** The limit on messages can't be asked for. So messages of two sizes are sent to a queue that does not exist, and dropped. */
export const limits: Check<BrokerSubject> = {
  name: "broker's limits",
  async examine({ connection, service }) {
    if (service === "management-api") return skipped("Its user may write to no queue; those of the others may.");
    const takesEvents = await takes(connection, EVENT_BYTES);
    const takesLargeMessages = takesEvents && (await takes(connection, MAX_MESSAGE_BYTES + 1));
    return limitsFindings({ takesEvents, takesLargeMessages, frameMax: greetingOf(connection).frameMax });
  },
};

async function takes(connection: ChannelModel, bytes: number): Promise<boolean> {
  try {
    const message = { routingKey: `herald.doctor.${randomUUID()}`, content: Buffer.alloc(bytes) };
    await onChannel(connection, (channel) => confirmed(channel, message));
    return true;
  } catch (error) {
    if (replyCodeOf(error) === PRECONDITION_FAILED) return false;
    throw error;
  }
}

export function limitsFindings({ takesEvents, takesLargeMessages, frameMax }: Limits): Finding[] {
  if (!takesEvents) {
    return [
      fault(
        `The broker refuses messages of ${EVENT_BYTES / 1024} KiB; an event may have 256 KiB, with headers beside.`,
        `Set max_message_size = ${MAX_MESSAGE_BYTES} in rabbitmq.conf.`,
      ),
    ];
  }
  const findings: Finding[] = [];
  const provider = "Where the provider sets it, let only services that you trust publish.";
  if (takesLargeMessages) {
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
