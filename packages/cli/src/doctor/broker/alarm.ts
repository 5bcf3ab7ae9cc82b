import { randomUUID } from "node:crypto";
import type { ChannelModel } from "amqplib";
import { type Finding, fault, ok } from "../finding.ts";

const CONFIRM_TIMEOUT_MS = 10_000;

/**
 * Whether the broker takes messages at all. While its memory or disk alarm is set, it stops reading from a connection that has
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

export function alarmFinding(blocked: boolean): Finding {
  if (!blocked) return ok("No alarm of memory or disk is set.");
  return fault(
    "The broker takes no messages: its memory or disk alarm is set.",
    "See which one: rabbitmq-diagnostics alarms. Give it memory or disk; events wait with their emitters meanwhile.",
  );
}
