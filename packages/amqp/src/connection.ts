import type { Duplex } from "node:stream";
import { type Channel, type ChannelModel, type ConfirmChannel, connect } from "amqplib";
import { endsWithin } from "./deadline.ts";
import type { Outages } from "./outages.ts";

/** A connection that comes back by itself, for ever. */
export interface Connection {
  /** Open right now. */
  isUp(): boolean;
  /** The broker takes no messages for now (its memory or disk alarm). */
  isBlocked(): boolean;
  /** Resolves once it is open, or when the signal aborts. */
  whenUp(signal: AbortSignal): Promise<void>;
  /** @throws where it is not open */
  openChannel(): Promise<Channel>;
  /** @throws where it is not open */
  openConfirmChannel(): Promise<ConfirmChannel>;
  /** Called after each change of `isUp` and `isBlocked`, until the function that it returns is called. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

/** A dead peer shows after two to three of these. RabbitMQ's own suggestion of 60 s would hide one for minutes. */
const HEARTBEAT_SECONDS = 10;
/** For TCP, TLS and the AMQP handshake together. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Five seconds at the most between two tries: a broker that is back should not be waited for. */
const BACKOFF = { initialDelay: 100, factor: 2, maxDelay: 5_000, jitter: 0.2, maxRetries: Number.POSITIVE_INFINITY };
/** How long the broker may take to say goodbye. */
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * Starts connecting; returns at once.
 *
 * @param name shown by `rabbitmqctl list_connections`
 * @throws where the URL is none of a broker
 */
export function openConnection({ url, name, outages }: { url: string; name: string; outages: Outages }): Connection {
  let live: ChannelModel | undefined;
  let blocked = false;
  const listeners = new Set<() => void>();
  const publishing = `${name}: publishing`;

  const recovering = connect(withHeartbeat(url), {
    // Nagle's algorithm would hold back small frames, acknowledgements and confirms among them, for up to 40 ms.
    noDelay: true,
    timeout: CONNECT_TIMEOUT_MS,
    clientProperties: { connection_name: name },
    // Without `waitForConnect: false` the listeners below would come too late for the first failures.
    recovery: { ...BACKOFF, waitForConnect: false },
  }).then((model) => {
    model.on("connect", (opened) => {
      live = opened;
      outages.up(name);
      changed();
    });
    model.on("disconnect", (error) => {
      destroySocket(live);
      live = undefined;
      // What blocked was this connection; the next one says so itself.
      blocked = false;
      outages.up(publishing);
      outages.down(name, error);
      changed();
    });
    model.on("connect-failed", (error) => outages.down(name, error));
    model.on("blocked", (reason) => {
      blocked = true;
      outages.down(publishing, new Error(`blocked by the broker: ${reason}`));
      changed();
    });
    model.on("unblocked", () => {
      blocked = false;
      outages.up(publishing);
      changed();
    });
    // Each error is followed by "disconnect"; without a listener it would end the process.
    model.on("error", () => undefined);
    return model;
  });

  function changed(): void {
    for (const listener of listeners) listener();
  }

  function current(): ChannelModel {
    if (live === undefined) throw new Error("the broker is not connected");
    return live;
  }

  return {
    isUp: () => live !== undefined,
    isBlocked: () => blocked,
    whenUp: (signal) =>
      new Promise((resolve) => {
        if (live !== undefined || signal.aborted) return resolve();
        const check = () => {
          if (live === undefined && !signal.aborted) return;
          listeners.delete(check);
          signal.removeEventListener("abort", check);
          resolve();
        };
        listeners.add(check);
        signal.addEventListener("abort", check);
      }),
    openChannel: async () => current().createChannel(),
    openConfirmChannel: async () => current().createConfirmChannel(),
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: async () => {
      const last = live;
      live = undefined;
      await endsWithin(CLOSE_TIMEOUT_MS, (await recovering).close());
      destroySocket(last);
      changed();
    },
  };
}

/** Fails here, once and in words, where amqplib would try a malformed address for ever. The address holds a password. */
function withHeartbeat(url: string): string {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address === undefined || !/^amqps?:$/.test(address.protocol) || address.hostname === "") {
    throw new Error("The broker's address is not of the form amqp://user:password@host:port/vhost, or amqps://.");
  }
  if (!address.searchParams.has("heartbeat")) address.searchParams.set("heartbeat", String(HEARTBEAT_SECONDS));
  return address.href;
}

/**
 * amqplib only ends its half of the socket. With a peer that is gone without a word, the other half would stay for the
 * quarter of an hour that TCP keeps trying. The stream is not in its types.
 */
function destroySocket(model: ChannelModel | undefined): void {
  (model?.connection as { stream?: Duplex } | undefined)?.stream?.destroy();
}
