import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP proxy in front of a server, which a test can disturb. */
export type Link = Awaited<ReturnType<typeof startLink>>;

type Side = "server" | "client";

interface Pair extends Record<Side, Socket> {
  /** The first bytes of the client. */
  greeting: string;
  /** What the broker said of a frame that has not ended. */
  begun: Buffer;
  held: Buffer[];
}

/**
 * Listens on a free port of the loopback and passes everything on. `targets` are asked for with each connection, since servers may move: the first one
 * that answers gets it, as from a load balancer that knows which servers are up.
 */
export async function startLink(targets: () => readonly URL[]) {
  const pairs = new Set<Pair>();
  const forgotten = new Set<Socket>();
  let stalled: readonly Side[] = [];
  let isHeld: ((frame: Buffer) => boolean) | undefined;

  const listener = createServer({ noDelay: true }, (client) => {
    client.on("error", () => undefined);
    void connectToFirst(targets()).then((server) => {
      // The servers may have ended while the connection was made.
      if (server === undefined || client.destroyed || targets().length === 0) {
        client.destroy();
        server?.destroy();
      } else join({ client, server, greeting: "", begun: Buffer.alloc(0), held: [] });
    });
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");

  function join(pair: Pair): void {
    const { client, server } = pair;
    pairs.add(pair);
    client.on("data", (bytes) => {
      if (pair.greeting.length < 4_096) pair.greeting += bytes.toString("latin1");
    });
    for (const [side, socket, other] of [
      ["client", client, server],
      ["server", server, client],
    ] as const) {
      socket.on("close", () => {
        // A silenced pair is no longer in the set: its sides end separately.
        if (pairs.delete(pair)) other.destroy();
      });
      socket.on("data", (bytes) => {
        const passing = side === "server" && pair.greeting.startsWith("AMQP") ? passingFrames(pair, bytes) : bytes;
        if (pairs.has(pair) && !other.write(passing)) socket.pause();
      });
      other.on("drain", () => {
        if (!stalled.includes(side)) socket.resume();
      });
    }
    pause(pair);
  }

  function passingFrames(pair: Pair, bytes: Buffer): Buffer {
    const { frames, begun } = framesOf(Buffer.concat([pair.begun, bytes]));
    pair.begun = begun;
    const held = frames.filter((frame) => isHeld?.(frame));
    pair.held.push(...held);
    return Buffer.concat(frames.filter((frame) => !held.includes(frame)));
  }

  function pause(pair: Pair): void {
    for (const side of stalled) pair[side].pause();
  }

  /** Breaks every connection; both sides notice, and may connect again at once. */
  function cut(): void {
    for (const { client, server } of pairs) {
      client.destroy();
      server.destroy();
    }
  }

  return {
    port: (listener.address() as AddressInfo).port,
    cut,
    /** Lets nothing pass that the server says, or the client, or both, on old connections and on new ones, until `release`. */
    stall(...from: Side[]) {
      stalled = from.length > 0 ? from : ["server", "client"];
      for (const pair of pairs) pause(pair);
    },
    /** Keeps frames of a broker from its clients, until `release`: if absent, the frames of all channels, so that connections are opened and beat, and channels hang. */
    hang(ofBroker: (frame: Buffer) => boolean = isOfChannel) {
      isHeld = ofBroker;
    },
    release() {
      stalled = [];
      isHeld = undefined;
      for (const { client, server, held } of pairs) {
        client.write(Buffer.concat(held.splice(0)));
        client.resume();
        server.resume();
      }
    },
    /** Sends bytes to the server in the name of the client whose first bytes contain this text, after the client's own bytes. */
    inject(said: string, bytes: Buffer) {
      const pair = [...pairs].find(({ greeting }) => greeting.includes(said));
      if (pair === undefined) throw new Error(`No client said ${said}.`);
      pair.server.write(bytes);
    },
    /**
     * Closes one side of every connection and keeps the other open: its bytes are dropped, and it does not notice, until it
     * gives up or the link is closed. New connections work as before.
     */
    silence(closed: Side) {
      for (const pair of [...pairs]) {
        pairs.delete(pair);
        const [dead, alive] = closed === "server" ? [pair.server, pair.client] : [pair.client, pair.server];
        dead.destroy();
        alive.resume();
        forgotten.add(alive);
        alive.once("close", () => forgotten.delete(alive));
      }
    },
    async close() {
      cut();
      for (const socket of forgotten) socket.destroy();
      listener.close();
      await once(listener, "close");
    },
  };
}

/** A frame of AMQP is its type, channel, size, payload and end. */
function framesOf(bytes: Buffer): { frames: Buffer[]; begun: Buffer } {
  const frames: Buffer[] = [];
  let begun = bytes;
  while (begun.length >= 7 && begun.length >= 8 + begun.readUInt32BE(3)) {
    const end = 8 + begun.readUInt32BE(3);
    frames.push(begun.subarray(0, end));
    begun = begun.subarray(end);
  }
  return { frames, begun };
}

const isOfChannel = (frame: Buffer) => frame.readUInt16BE(1) !== 0;

async function connectToFirst(targets: readonly URL[]): Promise<Socket | undefined> {
  for (const { hostname, port } of targets) {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    socket.on("error", () => undefined);
    const connected = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "close").then(() => false),
    ]).catch(() => false);
    if (connected) return socket;
    socket.destroy();
  }
  return undefined;
}

export type BrokerProxy = Awaited<ReturnType<typeof startProxy>>;

/** A link to the broker, whose URL is asked for with each connection: it may move. */
export async function startProxy(brokerUrl: () => string) {
  let refusing = false;
  const link = await startLink(() => (refusing ? [] : [new URL(brokerUrl())]));
  const url = new URL(brokerUrl());
  url.host = `127.0.0.1:${link.port}`;
  return {
    ...link,
    url: url.href,
    /** Breaks every connection and lets none through until `accept`. */
    refuse() {
      refusing = true;
      link.cut();
    },
    accept() {
      refusing = false;
    },
    /** Keeps from the clients what the broker says, until `release`. */
    holdAnswers: () => link.stall("server"),
    /** Keeps from the broker what the clients say, until `release`. */
    holdRequests: () => link.stall("client"),
  };
}

/** An acknowledgement of a message that the channel never got. The broker closes the channel for it (406), as for every misuse. */
export function bogusAck(channelNumber: number): Buffer {
  const frame = Buffer.alloc(7 + 13 + 1);
  frame.writeUInt8(1, 0); // a method
  frame.writeUInt16BE(channelNumber, 1);
  frame.writeUInt32BE(13, 3);
  frame.writeUInt16BE(60, 7); // basic
  frame.writeUInt16BE(80, 9); // ack
  frame.writeBigUInt64BE(999_999n, 11);
  frame.writeUInt8(0, 19);
  frame.writeUInt8(0xce, 20);
  return frame;
}
