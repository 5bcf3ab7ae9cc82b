import { startLink } from "./link.ts";

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
  /** Sends bytes to the broker in the name of the client whose connection's name contains this text, after the client's own bytes. */
  inject(connectionName: string, bytes: Buffer): void;
  close(): Promise<void>;
}

/**
 * Listens on a free port of the loopback and passes everything on to the broker.
 *
 * @param brokerUrl asked for each connection: the broker may move
 */
export async function startProxy(brokerUrl: () => string): Promise<BrokerProxy> {
  let refusing = false;
  const link = await startLink(() => (refusing ? [] : [new URL(brokerUrl())]));
  const url = new URL(brokerUrl());
  url.host = `127.0.0.1:${link.port}`;
  return {
    url: url.href,
    cut: link.cut,
    refuse() {
      refusing = true;
      link.cut();
    },
    accept() {
      refusing = false;
    },
    holdAnswers: () => link.stall("server"),
    holdRequests: () => link.stall("client"),
    release: link.release,
    inject: link.inject,
    close: link.close,
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
