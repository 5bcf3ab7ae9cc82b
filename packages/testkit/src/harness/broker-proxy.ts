import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A way to the broker that can be disturbed. */
export interface BrokerProxy {
  url: string;
  /** Breaks every connection, as a pulled cable would that both sides notice. */
  cut(): void;
  /** Breaks every connection and lets none through until `accept`. */
  refuse(): void;
  accept(): void;
  /** Keeps from the clients what the broker says, until `release`. */
  holdAnswers(): void;
  /** Keeps from the broker what the clients say, until `release`. */
  holdRequests(): void;
  release(): void;
  /** Sends bytes to the broker in the name of the client whose connection's name holds this; once its own have gone. */
  inject(connectionName: string, bytes: Buffer): void;
  close(): Promise<void>;
}

interface Pair {
  client: Socket;
  broker: Socket;
  /** What the client said first; its connection's name is in there. */
  greeting: string;
}

/**
 * Listens on a free port of the loopback and passes everything on to the broker.
 *
 * @param brokerUrl asked for each connection: the broker may move
 */
export async function startProxy(brokerUrl: () => string): Promise<BrokerProxy> {
  const pairs = new Set<Pair>();
  let refusing = false;
  let holding = false;

  const server = createServer((client) => {
    if (refusing) return void client.destroy();
    const target = new URL(brokerUrl());
    const broker = connect(Number(target.port || 5672), target.hostname);
    const pair: Pair = { client, broker, greeting: "" };
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      client.destroy();
      broker.destroy();
    };
    for (const socket of [client, broker]) socket.setNoDelay(true).on("error", end).on("close", end);
    client.on("data", (bytes) => {
      if (pair.greeting.length < 4_096) pair.greeting += bytes.toString("latin1");
      broker.write(bytes);
    });
    broker.on("data", (bytes) => client.write(bytes));
    if (holding) broker.pause();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  function cut(): void {
    for (const { client, broker } of pairs) {
      client.destroy();
      broker.destroy();
    }
  }

  const url = new URL(brokerUrl());
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    cut,
    refuse: () => {
      refusing = true;
      cut();
    },
    accept: () => {
      refusing = false;
    },
    holdAnswers: () => {
      holding = true;
      for (const { broker } of pairs) broker.pause();
    },
    holdRequests: () => {
      for (const { client } of pairs) client.pause();
    },
    release: () => {
      holding = false;
      for (const { client, broker } of pairs) {
        client.resume();
        broker.resume();
      }
    },
    inject: (connectionName, bytes) => {
      const pair = [...pairs].find(({ greeting }) => greeting.includes(connectionName));
      if (pair === undefined) throw new Error(`No connection's name holds ${connectionName}.`);
      pair.broker.write(bytes);
    },
    close: async () => {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

/**
 * An acknowledgement of a message that the channel never got. The broker answers it, as it answers every misuse of a
 * channel, by closing the channel (406).
 */
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
