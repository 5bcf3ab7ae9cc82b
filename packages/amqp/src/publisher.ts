import { type ConfirmChannel, IllegalOperationError } from "amqplib";
import { NotSentError, type NotSentReason } from "./errors.ts";
import { type BrokerScope, maintainChannel } from "./recovering-channel.ts";

export interface OutgoingMessage {
  /** "" for the default exchange, whose routing keys are queue names. */
  exchange: string;
  routingKey: string;
  /** JSON, UTF-8. */
  content: Buffer;
  headers?: Record<string, unknown>;
  /** Whether the message survives a restart of the broker. True if absent. */
  persistent?: boolean;
  /** A name of the message for consumers, for instance the id of what it is about. */
  messageId?: string;
  /** The kind of message, for consumers. */
  type?: string;
  /** True if absent: a message that no queue takes is not sent. False: such a message is confirmed and dropped. */
  mandatory?: boolean;
}

export interface PublisherOptions {
  /** How many messages may be unconfirmed at once; 500 if absent. amqplib itself would buffer without bound. */
  maxUnconfirmed?: number;
  /** How long a message may take from `publish` to its confirm, any reconnection included; 10 s if absent. */
  timeoutMs?: number;
  /**
   * How to treat messages that are unconfirmed when their channel dies. It is unknown whether they arrived.
   *
   * - "reject", if absent: they count as not sent ("channel-closed"), and the caller decides.
   * - "resend": they are sent again on the next channel, first and in their order, until their time is up. Consumers must
   *   be able to handle the same message twice. A message that itself kills the channel would be sent again until then, so
   *   this is for exchanges that `declare` has checked.
   */
  onChannelLost?: "reject" | "resend";
  /**
   * If given, a message that no queue takes is sent once more after this time, before it counts as "unroutable". It is
   * for a queue that may be bound a moment after its exchange was made.
   */
  unroutableGraceMs?: number;
}

export interface Publisher {
  /**
   * Sends a message, in the order of the calls. While the window is full, or the broker away or blocked, it waits.
   * Callers bound the memory by awaiting: a message that waits here is only referred to, not yet encoded.
   *
   * @returns when the broker has taken responsibility for the message
   * @throws {NotSentError} if that did not happen in time
   */
  publish(message: OutgoingMessage): Promise<void>;
  /** Takes no more, waits for messages under way (at most `timeoutMs`), and closes the channel. */
  close(): Promise<void>;
}

interface Job {
  message: OutgoingMessage;
  timer: NodeJS.Timeout;
  /** True once the promise of the caller is settled. */
  done: boolean;
  /** Why no queue took the message. The broker returns such a message first, and then confirms it all the same. */
  returned: string | undefined;
  triedAgain: boolean;
  resolve(): void;
  reject(error: Error): void;
}

const MAX_UNCONFIRMED = 500;
const TIMEOUT_MS = 10_000;

/**
 * Publishes with confirms, on a channel of its own.
 *
 * @throws if the scope is closed
 */
export function startPublisher(scope: BrokerScope, options: PublisherOptions = {}): Publisher {
  const { maxUnconfirmed = MAX_UNCONFIRMED, timeoutMs = TIMEOUT_MS, unroutableGraceMs } = options;
  const resends = options.onChannelLost === "resend";
  const { connection } = scope;
  /** Messages that wait to be sent, in the order of the calls. It is a set, since a deadline takes its message out of the middle. */
  let waiting = new Set<Job>();
  /**
   * Messages that were sent on this channel and are not confirmed yet, by the number that the message has as its correlation id.
   * A job that missed its deadline stays: amqplib still holds it, so it still counts for the window.
   */
  const unconfirmed = new Map<string, Job>();
  let lastNumber = 0;
  /** The number of messages whose callers still wait. */
  let pending = 0;
  /** amqplib's buffer is over its mark; "drain" says when it is empty. */
  let saturated = false;
  let closing = false;
  let onIdle: (() => void) | undefined;

  const channel = maintainChannel<ConfirmChannel>(scope, {
    purpose: "publisher",
    open: connection.openConfirmChannel,
    opened: (fresh) => {
      fresh.on("drain", () => {
        saturated = false;
        send();
      });
      fresh.on("return", ({ fields, properties }) => {
        const job = unconfirmed.get(properties.correlationId);
        if (job) job.returned = (fields as { replyText?: string }).replyText ?? "no route";
      });
      send();
    },
    lost: () => {
      saturated = false;
      const lost = [...unconfirmed.values()].filter((job) => !job.done);
      unconfirmed.clear();
      if (resends) waiting = new Set([...lost, ...waiting]);
      else for (const job of lost) fail(job, "channel-closed", "the channel closed before the broker confirmed it");
    },
    beforeClose: async () => {
      closing = true;
      if (pending > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve;
        });
      }
      stopListening();
    },
  });
  const stopListening = connection.onChange(send);

  function send(): void {
    for (const job of waiting) {
      const open = channel.current();
      if (open === undefined || saturated || unconfirmed.size >= maxUnconfirmed || connection.isBlocked()) return;
      waiting.delete(job);
      hand(job, open);
    }
  }

  function hand(job: Job, to: ConfirmChannel): void {
    const { exchange, routingKey, content, persistent = true, mandatory = true, ...properties } = job.message;
    const number = String(++lastNumber);
    job.returned = undefined;
    unconfirmed.set(number, job);
    const sent = { contentType: "application/json", ...properties, persistent, mandatory, correlationId: number };
    try {
      saturated = !to.publish(exchange, routingKey, content, sent, (nack) => confirmed(number, nack));
    } catch (error) {
      // The channel is closing. If lost messages are sent again, this one stays among them until `lost`.
      if (error instanceof IllegalOperationError && resends) return;
      unconfirmed.delete(number);
      if (error instanceof IllegalOperationError) fail(job, "channel-closed", "the channel was closing");
      else settle(job, () => job.reject(error as Error));
    }
  }

  function confirmed(number: string, nack: Error | null): void {
    const job = unconfirmed.get(number);
    // Jobs of a lost channel have been failed, or wait again.
    if (job === undefined) return;
    unconfirmed.delete(number);
    if (nack !== null) fail(job, "refused", "the broker refused it");
    else if (job.returned !== undefined) unroutable(job);
    else settle(job, job.resolve);
    send();
  }

  function unroutable(job: Job): void {
    if (unroutableGraceMs === undefined || job.triedAgain) {
      fail(job, "unroutable", noRoute(job));
      return;
    }
    job.triedAgain = true;
    setTimeout(() => {
      if (job.done) return;
      waiting.add(job);
      send();
    }, unroutableGraceMs);
  }

  function expire(job: Job): void {
    const wasWaiting = waiting.delete(job);
    if (job.returned !== undefined) fail(job, "unroutable", noRoute(job));
    else if (wasWaiting) fail(job, "unavailable", `${connection.obstacle() ?? obstacle()} (waited ${timeoutMs} ms)`);
    else fail(job, "unconfirmed", `the broker did not confirm it within ${timeoutMs} ms`);
  }

  function obstacle(): string {
    if (channel.current() !== undefined) return `the window of ${maxUnconfirmed} unconfirmed messages stayed full`;
    return channel.problem()?.message ?? "the channel is not open yet";
  }

  function noRoute({ returned }: Job): string {
    return `no queue takes it (${returned})`;
  }

  function fail(job: Job, reason: NotSentReason, detail: string): void {
    settle(job, () => job.reject(notSent(job.message, reason, detail)));
  }

  function settle(job: Job, tell: () => void): void {
    if (job.done) return;
    job.done = true;
    clearTimeout(job.timer);
    tell();
    pending--;
    if (pending === 0) onIdle?.();
  }

  return {
    publish: (message) =>
      new Promise((resolve, reject) => {
        if (closing) return reject(notSent(message, "closed", "the publisher is closed"));
        const timer = setTimeout(() => expire(job), timeoutMs);
        const job: Job = { message, timer, done: false, returned: undefined, triedAgain: false, resolve, reject };
        pending++;
        waiting.add(job);
        send();
      }),
    close: channel.close,
  };
}

function notSent(message: OutgoingMessage, reason: NotSentReason, detail: string): NotSentError {
  const { exchange, routingKey, messageId } = message;
  const target = exchange === "" ? `queue ${routingKey}` : `${exchange} (${routingKey})`;
  return new NotSentError(reason, detail, { what: `The message to ${target}`, messageId });
}
