import { unescape as decoded } from "node:querystring";
import type { Duplex } from "node:stream";
import { type Channel, type ChannelModel, type ConfirmChannel, connect } from "amqplib";
import type { Outages } from "./outages.ts";
import { endsWithin } from "./timing.ts";

/** A connection that recovers by itself, as often as needed. */
export type Connection = ReturnType<typeof openConnection>;

export type Authorities = string | (() => string);

export interface ConnectionOptions {
  /** amqp://user:password@host:port/vhost, or amqps:// */
  url: string;
  /** Shown in the broker's list of connections. */
  name: string;
  /**
   * PEM certificates of the authorities that the broker's certificate may come from, for `amqps://`; Node's if absent. A function is asked for
   * them at each connection, so that a program can read a file that has changed.
   */
  ca?: Authorities | undefined;
  outages: Outages;
  /** How long the broker may take to answer that a connection or a channel is closed; 2 s if absent. */
  closeTimeoutMs?: number;
  /**
   * How long the broker may take to answer any other request; 5 s if absent. Then the channel is closed and the next one is opened. If the broker
   * does not answer that either, the connection is made again.
   */
  answerTimeoutMs?: number;
}

type Given = ConnectionOptions & { closeTimeoutMs: number; answerTimeoutMs: number };

/** A dead peer is noticed after two to three heartbeats. RabbitMQ's own suggestion of 60 s would hide a dead peer for minutes. */
const HEARTBEAT_SECONDS = 10;
/** While a connection rests. Less than the shortest heartbeat, of a second. */
const SIGN_OF_LIFE_MS = 500;
/** The time limit for the TCP, TLS and AMQP handshakes together. */
const CONNECT_TIMEOUT_MS = 10_000;
/** The pauses between two tries to connect. They are at most five seconds, so that a broker that is back is found soon. */
const BACKOFF = { initialDelay: 100, factor: 2, maxDelay: 5_000, jitter: 0.2, maxRetries: Number.POSITIVE_INFINITY };

/** Starts connecting; returns at once. @throws if the URL is not an AMQP URL */
export function openConnection({ url, name, ca, outages, closeTimeoutMs, answerTimeoutMs }: Given) {
  let live: ChannelModel | undefined;
  let blocked = false;
  let closing = false;
  let problem = "no connection yet";
  let refusal: string | null = null;
  let resting: { sinceMs: number; signOfLife: NodeJS.Timeout } | undefined;
  const listeners = new Set<() => void>();
  const publishing = `${name}: publishing`;

  const recovering = connect(withHeartbeat(url), {
    // Nagle's algorithm would hold back small frames, acknowledgements and confirms among them, for up to 40 ms.
    noDelay: true,
    ...(ca !== undefined && { ca: askedAtEach(ca) }),
    timeout: CONNECT_TIMEOUT_MS,
    clientProperties: { connection_name: name },
    // Without `waitForConnect: false` the listeners below would come too late for the first failures.
    recovery: { ...BACKOFF, waitForConnect: false, setup: assertOpen },
  }).then((model) => {
    model.on("connect", (opened) => {
      live = opened;
      makeRestable(opened);
      outages.up(name);
      changed();
    });
    model.on("disconnect", (error) => {
      destroySocket(live);
      rest(false);
      live = undefined;
      // The broker blocks each connection separately: if the next one is blocked too, the broker sends a new notification.
      blocked = false;
      problem = `the connection was lost: ${error.message}`;
      refusal = null;
      outages.up(publishing);
      outages.down(name, error);
      changed();
    });
    model.on("connect-failed", (error) => {
      if (closing) return;
      const readable = withMessage(error);
      refusal = refusalIn(readable, url);
      problem = readable.message;
      outages.down(name, readable);
    });
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

  /** amqplib has no flow control for incoming data. It reads its socket on each "readable" event. */
  function makeRestable(model: ChannelModel): void {
    const socket = socketOf(model);
    if (socket === undefined) return;
    const read = socket.read.bind(socket);
    socket.read = (size) => (resting === undefined ? read(size) : null);
  }

  /**
   * Stops or resumes reading from the socket. While reading is stopped, data waits in the socket and at the broker, which sends
   * no more than both have room for. RabbitMQ closes a connection to which it can send nothing for 30 s. A connection that has recovered reads.
   */
  function rest(isResting: boolean): void {
    if (isResting === (resting !== undefined)) return;
    clearInterval(resting?.signOfLife);
    resting = undefined;
    if (isResting) {
      // The broker's heartbeats wait unread too, so amqplib would take the broker for dead.
      const peer = live?.connection as { recvSinceLastCheck?: boolean } | undefined;
      const signOfLife = setInterval(() => {
        if (peer) peer.recvSinceLastCheck = true;
      }, SIGN_OF_LIFE_MS);
      resting = { sinceMs: performance.now(), signOfLife };
    } else socketOf(live)?.emit("readable");
  }

  function current(): ChannelModel {
    if (live === undefined) throw new Error("the broker is not connected");
    return live;
  }

  /** Ends the connection, which is then made again. */
  function replace(reason: Error): void {
    socketOf(live)?.destroy(reason);
  }

  /** While the broker takes no messages, it need not answer either. */
  async function open<C extends Channel>(channel: Promise<C>): Promise<C> {
    const on = live;
    while (!(await endsWithin(answerTimeoutMs, channel))) {
      if (on === live && !blocked) replace(new Error(`the broker did not open a channel within ${answerTimeoutMs} ms`));
    }
    return channel;
  }

  return {
    isUp: () => live !== undefined,
    /** The broker takes no messages for now (its memory or disk alarm). */
    isBlocked: () => blocked,
    /** Why nothing can be sent right now, in words; undefined if something can. */
    obstacle: () => {
      if (live === undefined) return refusal ?? `the broker can't be reached (${problem})`;
      return blocked ? "the broker takes no messages for now (its memory or disk alarm)" : undefined;
    },
    /** Resolves once it is open, or when the signal aborts. */
    whenUp: (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
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
    /** @throws if it is not open */
    openChannel: async (): Promise<Channel> => open(current().createChannel()),
    /** @throws if it is not open */
    openConfirmChannel: async (): Promise<ConfirmChannel> => open(current().createConfirmChannel()),
    replace,
    /** Calls the listener after each change of `isUp` and `isBlocked`, until the function that it returns is called. */
    onChange: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    rest,
    /** For how long the socket has not been read; 0 while it is read. */
    restingMs: () => (resting ? performance.now() - resting.sinceMs : 0),
    close: async () => {
      closing = true;
      rest(false);
      const last = live;
      live = undefined;
      problem = "the connection is closed";
      await endsWithin(closeTimeoutMs, (await recovering).close());
      destroySocket(last);
      changed();
    },
  };
}

/** amqplib copies its options once, and gives this same array to each connection. TLS reads its element whenever it connects. */
function askedAtEach(ca: Authorities): string[] {
  return Object.defineProperty([], 0, { get: () => (typeof ca === "string" ? ca : ca()) });
}

/** Checks the URL once, since amqplib would try a malformed one for ever. @throws an error that does not show it: it holds a password */
export function withHeartbeat(url: string): string {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address === undefined || !/^amqps?:$/.test(address.protocol) || address.hostname === "") {
    const form = "The broker's URL must be of the form amqp://user:password@host:port/vhost, or amqps://";
    throw new Error(/^["'].*["']$/.test(url) ? `${form}, and without quotation marks.` : `${form}.`);
  }
  if (!address.searchParams.has("heartbeat")) address.searchParams.set("heartbeat", String(HEARTBEAT_SECONDS));
  return address.href;
}

/** The user of an AMQP URL. A "%" that begins no code stands for itself, as amqplib reads it. */
export const userOf = (url: string): string => decoded(new URL(url).username) || "guest";

/** The virtual host of an AMQP URL, as rabbitmqctl names it. */
export const virtualHostOf = (url: string): string => decoded(new URL(url).pathname.slice(1)) || "/";

/** The refusal of a login or of a virtual host, in words; null for other errors. amqplib names neither. The password is not in it. */
export function refusalIn({ message }: Error, url: string): string | null {
  if (/Handshake.*ACCESS[-_]REFUSED/.test(message)) {
    return `the broker refuses the user ${userOf(url)}, or the user's password`;
  }
  if (!message.includes("Expected ConnectionOpenOk")) return null;
  return `the broker refuses the virtual host ${virtualHostOf(url)}: there is none of this name, the user has no rights in it, or a limit is reached`;
}

/** A host name with several addresses fails with one error for all of them, which has no message of its own. */
function withMessage(error: Error): Error {
  if (!(error instanceof AggregateError)) return error;
  return new Error(error.errors.map(({ message }: Error) => message).join(", "), { cause: error });
}

/**
 * amqplib ends only its half of the socket. If the peer has vanished without closing it, the other half would stay for the
 * quarter of an hour that TCP keeps trying. The stream is not in amqplib's types.
 */
function destroySocket(model: ChannelModel | undefined): void {
  socketOf(model)?.destroy();
}

/**
 * A broker that is being stopped may end a connection in the packet in which it opens it. amqplib emits that event before a
 * listener can be added, and would take the connection for an open one for ever. But the broker ends its side of the socket, which shows here.
 * @throws if that has happened, so that the next try follows
 */
function assertOpen(model: ChannelModel): void {
  if (socketOf(model)?.writableEnded) throw new Error("The broker closed the connection as soon as it was open.");
}

function socketOf(model: ChannelModel | undefined): Duplex | undefined {
  return (model?.connection as { stream?: Duplex } | undefined)?.stream;
}
