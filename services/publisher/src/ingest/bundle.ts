import { carriedHeaders } from "@herald/common/broker/carried-headers";

/** An event as the broker has it. */
export interface Message {
  content: Buffer;
  headers: Readonly<Record<string, unknown>>;
}

/** The number of bytes in front of an entry: the lengths of its headers and of its content. */
const LENGTHS_BYTES = 8;

/**
 * An event as one of many in a message: a bundle is such entries in a row. To move a bundle costs the broker as much as to move one event. The
 * content stays as it is, since what breaks the contract is judged later.
 */
export function bundleEntry({ content, headers }: Message): Buffer {
  const carried = Buffer.from(JSON.stringify(carriedHeaders(headers)));
  const lengths = Buffer.alloc(LENGTHS_BYTES);
  lengths.writeUInt32BE(carried.byteLength, 0);
  lengths.writeUInt32BE(content.byteLength, 4);
  return Buffer.concat([lengths, carried, content]);
}

/** @throws where it is no bundle */
export function unbundle(bundle: Buffer): Message[] {
  const messages: Message[] = [];
  for (let at = 0; at < bundle.byteLength; ) {
    const headersAt = at + LENGTHS_BYTES;
    const contentAt = headersAt + bundle.readUInt32BE(at);
    const end = contentAt + bundle.readUInt32BE(at + 4);
    if (end > bundle.byteLength) throw new Error("the bundle is cut off");
    const headers: Message["headers"] = JSON.parse(bundle.toString("utf8", headersAt, contentAt));
    messages.push({ headers, content: bundle.subarray(contentAt, end) });
    at = end;
  }
  return messages;
}
