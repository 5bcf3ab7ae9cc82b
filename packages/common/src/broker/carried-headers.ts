/** RabbitMQ takes these as instructions: it routes the message to what they name as well. */
const ROUTING = new Set(["CC", "BCC"]);

/** All of a message's headers have to fit into one frame: amqplib can fill 64 KiB of it. */
const MAX_CARRIED_LENGTH = 8 * 1024;

/**
 * The headers of another program's message that may go along where Herald publishes the message again, to a queue of its
 * choice and with its rights. `CC` and `BCC` would let an emitter, which may only publish events, write into
 * every queue, and send a message round in circles. Only text goes along (a trace's context, an emitter's notes), and no
 * more than fits into a frame: a message that can't be published again would never leave its queue.
 */
export function carriedHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const carried: [string, string][] = [];
  let length = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== "string" || ROUTING.has(name.toUpperCase())) continue;
    const size = Buffer.byteLength(name) + Buffer.byteLength(value);
    if (length + size > MAX_CARRIED_LENGTH) continue;
    length += size;
    carried.push([name, value]);
  }
  return Object.fromEntries(carried);
}
