import { randomUUID } from "node:crypto";
import { type ConfirmChannel, IllegalOperationError } from "amqplib";
import { NotSentError, type NotSentReason } from "./errors.ts";
import { type Home, keepChannel } from "./kept-channel.ts";
import { declareTopology } from "./topology.ts";

export interface OutgoingMessage {
  /** "" for the default exchange, whose routing keys are queue names. */
  exchange: string;
  routingKey: string;
  /** JSON, UTF-8. */
  content: Buffer;
  headers?: Record<string, unknown>;
  /** Survives a restart of the broker. True unless said otherwise. */
  persistent?: boolean;
  replyTo?: string;
  correlationId?: string;
  /**
   * True, unless said otherwise: a message that no queue takes is not sent. False where nobody may care to listen:
   * such a message is confirmed and gone.
   */
  mandatory?: boolean;
}

export interface PublisherOptions {
  /** How many messages may be unconfirmed at once; 500 unless said otherwise. amqplib itself would buffer without bound. */
  window?: number;
  /** How long a message may take from `publish` to its confirm, any reconnection included; 10 s unless said otherwise. */
  timeoutMs?: number;
}

export interface Publisher {
  /**
   * Sends a message, in the order of the calls. While the window is full, the broker away or blocked, it waits.
   * Callers keep memory bounded by awaiting: what waits here is only referred to, not yet encoded.
   *
   * @returns when the broker has taken responsibility for the message
   * @throws {NotSentError} where that did not happen in time
   */
  publish(message: OutgoingMessage): Promise<void>;
  /** Takes no more, waits for what is under way (`timeoutMs` at the longest), and closes the channel. */
  close(): Promise<void>;
}

interface Job {
  message: OutgoingMessage;
  timer: NodeJS.Timeout;
  /** The caller has been told. */
  done: boolean;
  /** Why no queue took it. Comes before the confirm, which comes all the same. */
  returned?: string;
  resolve(): void;
  reject(error: Error): void;
}

const WINDOW = 500;
const TIMEOUT_MS = 10_000;

export function startPublisher(
  { window = WINDOW, timeoutMs = TIMEOUT_MS }: PublisherOptions,
  { home, namespace }: { home: Home; namespace: string },
): Publisher {
  const { connection } = home;
  const idPrefix = randomUUID();
  let lastId = 0;
  let channel: ConfirmChannel | undefined;
  /** amqplib's buffer is over its mark; "drain" says when it is empty. */
  let saturated = false;
  let closing = false;
  let onIdle: (() => void) | undefined;
  /** In the order of the calls; a set, since a deadline takes its message out of the middle. */
  const waiting = new Set<Job>();
  /**
   * Handed to the channel and neither confirmed nor dead with it, by message id. A job that missed its deadline stays:
   * amqplib still holds it, so it still counts for the window.
   */
  const unconfirmed = new Map<string, Job>();

  const kept = keepChannel<ConfirmChannel>(
    {
      purpose: "publisher",
      open: connection.openConfirmChannel,
      // An exchange that is missing would be a 404, and take the whole window with it.
      setUp: (fresh) => declareTopology(fresh, namespace),
      opened: (fresh) => {
        channel = fresh;
        fresh.on("drain", () => {
          saturated = false;
          send();
        });
        fresh.on("return", ({ fields, properties }) => {
          const job = unconfirmed.get(properties.messageId);
          if (job) job.returned = (fields as { replyText?: string }).replyText ?? "no route";
        });
        send();
      },
      lost: () => {
        channel = undefined;
        saturated = false;
        const lost = [...unconfirmed.values()];
        unconfirmed.clear();
        for (const job of lost) fail(job, "channel-closed", "the channel closed before the broker confirmed it");
        idle();
      },
    },
    home,
  );
  const unsubscribe = connection.onChange(send);

  function send(): void {
    for (const job of waiting) {
      if (channel === undefined || saturated || unconfirmed.size >= window || connection.isBlocked()) return;
      waiting.delete(job);
      hand(job, channel);
    }
  }

  function hand(job: Job, to: ConfirmChannel): void {
    const { exchange, routingKey, content, persistent = true, mandatory = true, ...properties } = job.message;
    const messageId = `${idPrefix}.${++lastId}`;
    const options = { contentType: "application/json", ...properties, persistent, mandatory, messageId };
    unconfirmed.set(messageId, job);
    try {
      saturated = !to.publish(exchange, routingKey, content, options, (nack) => confirmed(messageId, nack));
    } catch (error) {
      unconfirmed.delete(messageId);
      if (error instanceof IllegalOperationError) fail(job, "channel-closed", "the channel was closing");
      else settle(job, () => job.reject(error as Error));
    }
  }

  function confirmed(messageId: string, nack: Error | null): void {
    const job = unconfirmed.get(messageId);
    if (job === undefined) return;
    unconfirmed.delete(messageId);
    if (nack !== null) fail(job, "refused", "the broker refused it");
    else if (job.returned !== undefined) fail(job, "returned", `no queue takes it (${job.returned})`);
    else settle(job, job.resolve);
    send();
    idle();
  }

  function fail(job: Job, reason: NotSentReason, detail: string): void {
    settle(job, () => job.reject(new NotSentError(reason, job.message, detail)));
  }

  function settle(job: Job, tell: () => void): void {
    if (job.done) return;
    job.done = true;
    clearTimeout(job.timer);
    tell();
  }

  function expire(job: Job): void {
    if (waiting.delete(job)) fail(job, "unavailable", `${obstacle()} for ${timeoutMs} ms`);
    else fail(job, "unconfirmed", `no confirm within ${timeoutMs} ms`);
    idle();
  }

  function obstacle(): string {
    if (!connection.isUp()) return "no connection to the broker";
    if (connection.isBlocked()) return "the broker takes no messages";
    return channel === undefined ? "no channel" : `no place in the window of ${window}`;
  }

  /** Nothing is left that a caller waits for. */
  function idle(): void {
    if (onIdle === undefined || waiting.size > 0) return;
    for (const job of unconfirmed.values()) if (!job.done) return;
    onIdle();
  }

  async function close(): Promise<void> {
    closing = true;
    await new Promise<void>((resolve) => {
      onIdle = resolve;
      idle();
    });
    unsubscribe();
    await kept.close();
  }

  let closed: Promise<void> | undefined;
  return {
    publish: (message) =>
      new Promise((resolve, reject) => {
        if (closing) return reject(new NotSentError("closed", message, "the publisher is closed"));
        const job: Job = { message, resolve, reject, done: false, timer: setTimeout(() => expire(job), timeoutMs) };
        waiting.add(job);
        send();
      }),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}
