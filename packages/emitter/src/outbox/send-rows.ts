import type { NotSentReason } from "@herald/amqp";
import type { Emitter } from "../emitter.ts";
import { type Row, readRow, type Sendable } from "./read-row.ts";

/** What became of some rows. */
export interface SentRows {
  /** The broker has confirmed them. */
  sent: string[];
  /** They can't be sent, each with the reason. */
  refused: { number: string; reason: string }[];
  /** They wait, since the broker did not take them, or one before them that is about the same entity. */
  held: Sendable[];
  /** Why the first of those was not taken. */
  failure: Error | undefined;
  /** Whether the broker takes nothing, and not only some of the events. */
  isBrokerAway: boolean;
}

interface SendOptions {
  emitter: Pick<Emitter, "emitJson">;
  /** Entities of which nothing is to be sent now. */
  passedOver: ReadonlySet<string>;
  /** Whether the time is over. What was not begun then waits, as if it had not been read. */
  isOver(): boolean;
}

/** The broker's answer to one event: a queue is full, or missing. Others may go to other queues. */
const REFUSALS: readonly (NotSentReason | undefined)[] = ["refused", "unroutable"];

/**
 * Sends rows: those of one entity one after another, each after the confirm of the one before; those of different entities at once. Where
 * one is not taken, the later ones of its entity are not tried, so that none overtakes it.
 *
 * @param rows oldest first
 */
export async function sendRows(rows: readonly Row[], { emitter, passedOver, isOver }: SendOptions): Promise<SentRows> {
  const result: SentRows = { sent: [], refused: [], held: [], failure: undefined, isBrokerAway: false };

  async function sendLane(lane: readonly Sendable[]): Promise<void> {
    for (const [index, { number, json, traceparent, entity }] of lane.entries()) {
      if (isOver()) return;
      if (passedOver.has(entity)) return hold(lane.slice(index));
      try {
        await emitter.emitJson(json, traceparent === undefined ? {} : { traceparent });
        result.sent.push(number);
      } catch (error) {
        const { reason } = error as { reason?: NotSentReason };
        result.failure ??= error as Error;
        if (!REFUSALS.includes(reason)) result.isBrokerAway = true;
        return hold(lane.slice(index));
      }
    }
  }

  function hold(rest: readonly Sendable[]): void {
    result.held.push(...rest);
  }

  const lanes = new Map<string, Sendable[]>();
  for (const reading of rows.map(readRow)) {
    if (reading.kind === "refused") {
      result.refused.push({ number: reading.number, reason: reading.reason });
      continue;
    }
    const { sendable } = reading;
    const lane = lanes.get(sendable.entity);
    if (lane) lane.push(sendable);
    else lanes.set(sendable.entity, [sendable]);
  }
  await Promise.all([...lanes.values()].map(sendLane));
  return result;
}
