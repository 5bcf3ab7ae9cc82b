import type { Duplex } from "node:stream";
import { type ChannelModel, type ConfirmChannel, connect } from "amqplib";

export interface LinkOptions {
  url: string;
  /** Shown in the broker's list of connections. */
  name: string;
  /** Must exist on the broker before the link counts as open. */
  exchange: string;
  /** A channel is open; it is the current one until `lost`. */
  opened: (channel: ConfirmChannel) => void;
  /** That channel is gone, and what it had not confirmed is uncertain. */
  lost: () => void;
  /** The broker takes messages again. */
  unblocked: () => void;
  /** Each failure to open or to stay open, for the log. */
  failed: (error: Error) => void;
}

export interface Link {
  /** Why nothing can be sent right now, in words; null where it can. */
  obstacle(): string | null;
  close(): Promise<void>;
}

const HEARTBEAT_SECONDS = 10;
const CONNECT_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2_000;
const MIN_DELAY_MS = 100;
const MAX_DELAY_MS = 5_000;
/** A channel that lived this long was all right: after a shorter life (no permission to publish) the next one waits longer. */
const HEALTHY_LIFE_MS = 10_000;

/**
 * Keeps one confirm channel to the broker open, for ever: amqplib brings the connection back, this the channel on it.
 *
 * @throws Error where the URL is none of a broker
 */
export function openLink(options: LinkOptions): Link {
  const { url, name, exchange } = options;
  let model: ChannelModel | null = null;
  let isOpen = false;
  let isBlocked = false;
  let problem = "the broker is not connected yet";
  let failures = 0;
  let openedAt = 0;
  let retry: NodeJS.Timeout | undefined;
  let closing = false;

  const connecting = connect(brokerAddress(url), {
    noDelay: true,
    timeout: CONNECT_TIMEOUT_MS,
    clientProperties: { connection_name: name },
    recovery: { initialDelay: MIN_DELAY_MS, maxDelay: MAX_DELAY_MS, waitForConnect: false },
  }).then((recovering) => {
    recovering.on("connect", (connected) => {
      model = connected;
      isBlocked = false;
      void openChannel(connected);
    });
    recovering.on("disconnect", (error) => {
      destroySocket(model);
      model = null;
      fail(`the connection to the broker was lost (${error.message})`, error);
    });
    recovering.on("connect-failed", (error) => fail(`the broker can't be reached (${messageOf(error)})`, error));
    recovering.on("blocked", () => {
      isBlocked = true;
    });
    recovering.on("unblocked", () => {
      isBlocked = false;
      options.unblocked();
    });
    // "disconnect" follows; without a listener it would end the process.
    recovering.on("error", () => {});
    return recovering;
  });

  function fail(words: string, error: Error): void {
    problem = words;
    if (!closing) options.failed(error);
  }

  async function openChannel(on: ChannelModel): Promise<void> {
    let dead = false;
    let cause: Error | null = null;
    try {
      const channel = await on.createConfirmChannel();
      channel.on("error", (error) => {
        cause = error;
      });
      // Before amqplib's own listener, which calls back for each unconfirmed message as if it had been refused.
      channel.prependListener("close", () => {
        dead = true;
        if (isOpen) {
          isOpen = false;
          if (performance.now() - openedAt > HEALTHY_LIFE_MS) failures = 0;
          options.lost();
        }
        again(on, cause ?? new Error("the channel was closed"));
      });
      // Publishing to an exchange that is missing would take the channel and everything on it down.
      await channel.checkExchange(exchange);
      if (dead || closing) return;
      isOpen = true;
      openedAt = performance.now();
      options.opened(channel);
    } catch (error) {
      if (!dead) again(on, error as Error);
    }
  }

  function again(on: ChannelModel, error: Error): void {
    if (closing || model !== on) return;
    const missing = (error as { code?: unknown }).code === 404;
    fail(
      missing
        ? `the exchange ${exchange} is not on the broker: start Herald's publisher, which makes it`
        : `the broker closed the channel (${error.message})`,
      error,
    );
    clearTimeout(retry);
    retry = setTimeout(() => void openChannel(on), Math.min(MAX_DELAY_MS, MIN_DELAY_MS * 2 ** failures++));
  }

  return {
    obstacle: () => {
      if (!isOpen) return problem;
      return isBlocked ? "the broker takes no messages for now (its memory or disk alarm)" : null;
    },
    async close() {
      closing = true;
      clearTimeout(retry);
      const last = model;
      let timer: NodeJS.Timeout | undefined;
      const timeout = new Promise((resolve) => {
        timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
      });
      await Promise.race([connecting.then((recovering) => recovering.close()), timeout]);
      clearTimeout(timer);
      destroySocket(last);
    },
  };
}

/** Fails here, once and in words, where amqplib would try a malformed address for ever. It may hold a password. */
function brokerAddress(url: string): string {
  const address = URL.canParse(url) ? new URL(url) : null;
  if (!address || !/^amqps?:$/.test(address.protocol) || address.hostname === "") {
    throw new Error("the broker's url must be of the form amqp://user:password@host:port/vhost, or amqps://");
  }
  // A dead peer shows after two or three of these; the broker's own suggestion of 60 s would hide one for minutes.
  if (!address.searchParams.has("heartbeat")) address.searchParams.set("heartbeat", String(HEARTBEAT_SECONDS));
  return address.href;
}

/**
 * amqplib ends only its half of the socket, so one whose peer is gone without a word would stay for as long as TCP keeps
 * trying. The stream is not in its types.
 */
function destroySocket(model: ChannelModel | null): void {
  (model?.connection as { stream?: Duplex } | undefined)?.stream?.destroy();
}

/** A name that resolves to several addresses makes one error of many, without a message of its own. */
function messageOf(error: Error): string {
  return error instanceof AggregateError ? error.errors.map(({ message }: Error) => message).join(", ") : error.message;
}
