import { type ChannelModel, connect } from "amqplib";

export async function withConnection(url: string, task: (connection: ChannelModel) => Promise<void>): Promise<void> {
  const connection = await connect(url);
  connection.on("error", () => {});
  try {
    await task(connection);
  } finally {
    await connection.close().catch(() => {});
  }
}

/** A header table `{a: [[[...]]]}` as AMQP writes it. */
export function nestedLists(depth: number): Buffer {
  const list = Buffer.alloc(depth * 5);
  for (let level = 0; level < depth; level++) {
    list.write("A", level * 5);
    list.writeUInt32BE((depth - 1 - level) * 5, level * 5 + 1);
  }
  return Buffer.concat([uint32(2 + list.length), Buffer.from([1]), Buffer.from("a"), list]);
}

/** A header table `{"": {"": {...}}}`. */
export function nestedTables(depth: number): Buffer {
  const table = Buffer.alloc(depth * 6);
  for (let level = 0; level < depth; level++) {
    table.write("F", level * 6 + 1);
    table.writeUInt32BE((depth - 1 - level) * 6, level * 6 + 2);
  }
  return Buffer.concat([uint32(table.length), table]);
}

/** Publishes with a header table that amqplib can't write. */
export function publishWith(
  { connection, channel }: { connection: ChannelModel; channel: unknown },
  { exchange, table, body }: { exchange: string; table: Buffer; body: string },
): void {
  streamOf(connection).write(publishFrames(channelNumber(channel), exchange, table, body));
}

function publishFrames(channel: number, exchange: string, table: Buffer, body: string): Buffer {
  const shortText = (text: string) => Buffer.concat([Buffer.from([Buffer.byteLength(text)]), Buffer.from(text)]);
  const method = Buffer.concat([
    Buffer.from([0, 60, 0, 40, 0, 0]),
    shortText(exchange),
    shortText("WorkItemCompleted"),
    Buffer.from([0]),
  ]);
  // The headers alone among all properties.
  const header = Buffer.concat([
    Buffer.from([0, 60, 0, 0]),
    uint32(0),
    uint32(body.length),
    Buffer.from([0x20, 0]),
    table,
  ]);
  return Buffer.concat([frame(1, channel, method), frame(2, channel, header), frame(3, channel, Buffer.from(body))]);
}

function frame(type: number, channel: number, payload: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from([type, channel >> 8, channel & 255]),
    uint32(payload.length),
    payload,
    Buffer.from([0xce]),
  ]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const streamOf = (connection: ChannelModel) =>
  (connection as unknown as { connection: { stream: NodeJS.WritableStream } }).connection.stream;
const channelNumber = (channel: unknown) => (channel as { ch: number }).ch;
