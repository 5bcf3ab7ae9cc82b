import type { Channel, ConsumeMessage } from "amqplib";

export type Settlements = ReturnType<typeof settleOn>;

/**
 * The longest time that an acknowledgement waits to be sent with others. The broker does not wait meanwhile: `enough` acknowledgements, which are sent at
 * once, are there long before the prefetch is used up.
 */
const GATHER_MS = 20;

export interface SettlementOptions {
  /** This many acknowledgements wait no longer: they are sent at the end of the current turn of the event loop. */
  enough: number;
  /** Learns how many bytes the unsettled messages have together, after each change. */
  onBytes?: (bytes: number) => void;
}

/**
 * Settles the messages of one channel: each at most once, and only while the channel is open.
 *
 * Acknowledgements are sent together, as one frame if possible: a quorum queue writes every acknowledgement frame to its
 * log, and each frame wakes the broker. They gather for some milliseconds, or until they are `enough`.
 */
export function settleOn(channel: Pick<Channel, "ack" | "nack">, { enough, onBytes }: SettlementOptions) {
  // Sets keep the order of insertion: the first is the oldest.
  const unsettled = new Set<ConsumeMessage>();
  let acknowledged: ConsumeMessage[] = [];
  let gathering: NodeJS.Timeout | undefined;
  let flushing: NodeJS.Immediate | undefined;
  let onDrained: (() => void) | undefined;
  let bytes = 0;

  function count(change: number): void {
    bytes += change;
    onBytes?.(bytes);
  }

  function settle(message: ConsumeMessage, how: () => void): void {
    if (!unsettled.delete(message)) return;
    how();
    count(-message.content.byteLength);
    if (unsettled.size === 0) onDrained?.();
  }

  function stopWaiting(): void {
    clearTimeout(gathering);
    clearImmediate(flushing);
    gathering = undefined;
    flushing = undefined;
  }

  function flush(): void {
    stopWaiting();
    const [oldest] = unsettled;
    const { upTo, single } = groupAcks(acknowledged, oldest);
    acknowledged = [];
    attempt(() => {
      if (upTo !== undefined) channel.ack(upTo, true);
      for (const message of single) channel.ack(message);
    });
  }

  return {
    /** To be called for each message that arrives, in the order of arrival, without a gap. */
    add(message: ConsumeMessage) {
      unsettled.add(message);
      count(message.content.byteLength);
    },
    /** True while the message is not settled and its channel is open. */
    isUnsettled: (message: ConsumeMessage) => unsettled.has(message),
    /** `ack`, `requeue` and `reject` do nothing for a message that is settled already. */
    ack: (message: ConsumeMessage) =>
      settle(message, () => {
        acknowledged.push(message);
        if (acknowledged.length >= enough) flushing ??= setImmediate(flush);
        else gathering ??= setTimeout(flush, GATHER_MS);
      }),
    requeue: (message: ConsumeMessage) => settle(message, () => attempt(() => channel.nack(message, false, true))),
    reject: (message: ConsumeMessage) => settle(message, () => attempt(() => channel.nack(message, false, false))),
    /** Resolves when no message is left unsettled, and all acknowledgements have been sent. */
    drained: async () => {
      if (unsettled.size > 0) {
        await new Promise<void>((resolve) => {
          onDrained = resolve;
        });
      }
      if (acknowledged.length > 0) flush();
    },
    /** To be called when the channel has ended: settling does nothing from then on, and the broker delivers unsettled messages again. */
    abandon: () => {
      unsettled.clear();
      count(-bytes);
      acknowledged = [];
      stopWaiting();
      onDrained?.();
    },
  };
}

/**
 * Which acknowledgement frames cover these messages and no others: one frame for everything up to a message, for the
 * messages that are older than the oldest unsettled one, and one frame each for the rest.
 *
 * The broker accepts each tag once, so `upTo` is the newest of the acknowledged messages themselves.
 */
export function groupAcks<M extends { fields: { deliveryTag: number } }>(
  acknowledged: M[],
  oldestUnsettled: M | undefined,
): { upTo: M | undefined; single: M[] } {
  const limit = oldestUnsettled?.fields.deliveryTag ?? Number.POSITIVE_INFINITY;
  const single: M[] = [];
  let upTo: M | undefined;
  for (const message of acknowledged) {
    const tag = message.fields.deliveryTag;
    if (tag > limit) single.push(message);
    else if (upTo === undefined || tag > upTo.fields.deliveryTag) upTo = message;
  }
  return { upTo, single };
}

/** Ignores the error of a channel that is closing, which throws before its "close" event. The broker delivers the message again. */
function attempt(send: () => void): void {
  try {
    send();
  } catch {
    // IllegalOperationError, the only error that a channel throws here.
  }
}
