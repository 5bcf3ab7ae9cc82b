import { parseArgs } from "node:util";
import { withBroker } from "../broker.ts";
import { type Command, positiveInteger, type RunContext, UsageError } from "../command.ts";
import { oneLine, printable, table } from "../output.ts";
import { factsOf, originalHeaders } from "./rejected-message.ts";
import { type HeldMessage, type RejectedQueue, withRejectedQueue } from "./rejected-queue.ts";

const MIN_ID_LENGTH = 4;

export const rejectedCommand: Command = {
  summary: "shows and replays events that broke the contract",
  help: `herald rejected: shows and replays events that broke the contract, from the queue herald.events.rejected

  herald rejected list [--limit 50] [--json]
  herald rejected show ID [--body]
  herald rejected replay ID... | --all
  herald rejected discard ID...

  list      the first events: id, size, what can be read of them, and why they were rejected; --json prints one object a line
  show      everything about one event; --body prints its bytes and nothing else, to correct and emit them again
  replay    puts events into the inbox again, for instance after a fix of the publisher; what still breaks the contract comes back
  discard   takes events out of the queue for good

An id is made of a message's content. Its first ${MIN_ID_LENGTH} characters are enough, where no other id begins with them. Messages of the
same content share an id, and a command treats them together. No message gets lost: a replayed one leaves the queue when RabbitMQ
has confirmed its copy, and one that was only read goes back.
`,
  async run(args, context) {
    const [action, ...rest] = args;
    const run = action !== undefined && Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (!run) throw new UsageError(`It takes one of ${Object.keys(actions).join(", ")}.`);
    await run(rest, context);
  },
};

type Action = (args: string[], context: RunContext) => Promise<void>;

const actions: Record<string, Action> = { list, show, replay, discard };

async function list(args: string[], context: RunContext): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { limit: { type: "string", default: "50" }, json: { type: "boolean", default: false } },
  });
  const limit = positiveInteger("--limit", values.limit);
  const { stdout, stderr } = context;
  await onQueue(context, async (queue) => {
    const rows: string[][] = [];
    for await (const message of queue.messages(limit)) {
      const { id, content, reason } = message;
      const facts = factsOf(message);
      if (values.json) stdout(`${JSON.stringify({ id, bytes: content.byteLength, ...facts, reason })}\n`);
      else
        rows.push([id, `${content.byteLength}`, facts.type ?? "-", facts.organizationId ?? "-", reason].map(oneLine));
    }
    if (!values.json && rows.length > 0) stdout(table(["ID", "BYTES", "TYPE", "ORGANIZATION", "REASON"], rows));
    if (queue.depth > limit) stderr(`${queue.depth - limit} more; --limit ${queue.depth} lists all.\n`);
    else stderr(`${queue.depth} rejected events.\n`);
  });
}

async function show(args: string[], context: RunContext): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { body: { type: "boolean", default: false } },
  });
  const [id, ...more] = idsOf(positionals);
  if (id === undefined || more.length > 0) throw new UsageError("It takes one id.");
  const { stdout } = context;
  await onQueue(context, async (queue) => {
    const [message] = await find(queue, [id], context);
    if (!message) throw new Error(`No rejected event has the id ${id}.`);
    if (values.body) return stdout(message.content);
    const { eventId, type, organizationId } = factsOf(message);
    const facts = [
      ["id", message.id],
      ["reason", message.reason],
      ["event", eventId ?? "-"],
      ["type", type ?? "-"],
      ["organization", organizationId ?? "-"],
      ["headers", JSON.stringify(originalHeaders(message))],
      ["bytes", String(message.content.byteLength)],
    ];
    const lines = facts.map(([name = "", value = ""]) => `${`${name}:`.padEnd(14)}${printable(value)}\n`);
    stdout(`${lines.join("")}\n${printable(message.content.toString("utf8"))}\n`);
  });
}

async function replay(args: string[], context: RunContext): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { all: { type: "boolean", default: false } },
  });
  const ids = idsOf(positionals);
  if (values.all === ids.length > 0) throw new UsageError("It takes ids, or --all.");
  const { stdout } = context;
  await onQueue(context, async (queue) => {
    let count = 0;
    const messages = values.all ? queue.messages() : await findAll(queue, ids, context);
    for await (const message of messages) {
      await message.replay();
      context.progress(`${count + 1} of ${queue.depth} replayed`);
      count++;
    }
    stdout(`Replayed ${count} ${count === 1 ? "event" : "events"}.\n`);
  });
}

async function discard(args: string[], context: RunContext): Promise<void> {
  const { positionals } = parseArgs({ args, allowPositionals: true });
  const ids = idsOf(positionals);
  if (ids.length === 0) throw new UsageError("It takes ids.");
  const { stdout } = context;
  await onQueue(context, async (queue) => {
    const found = await findAll(queue, ids, context);
    for (const message of found) message.discard();
    stdout(`Discarded ${found.length} ${found.length === 1 ? "event" : "events"}.\n`);
  });
}

function onQueue(context: RunContext, task: (queue: RejectedQueue) => Promise<void>): Promise<void> {
  return withBroker(context, (connection, names) => withRejectedQueue(connection, names, task));
}

function idsOf(positionals: string[]): string[] {
  for (const id of positionals) {
    if (id.length < MIN_ID_LENGTH)
      throw new UsageError(`An id has at least ${MIN_ID_LENGTH} characters; "${id}" has fewer.`);
  }
  return positionals;
}

/** Reads the whole queue and holds it, so that each message is seen once. */
async function find(queue: RejectedQueue, ids: readonly string[], { progress }: RunContext): Promise<HeldMessage[]> {
  let read = 0;
  const found: HeldMessage[] = [];
  for await (const message of queue.messages()) {
    progress(`${++read} of ${queue.depth} read`);
    if (ids.some((id) => message.id.startsWith(id))) found.push(message);
  }
  for (const id of ids) {
    const meant = new Set(found.map((message) => message.id).filter((full) => full.startsWith(id)));
    if (meant.size > 1) throw new UsageError(`${id} is the beginning of several ids: ${[...meant].join(", ")}.`);
  }
  return found;
}

/** @throws where an id is not there, before anything is done */
async function findAll(queue: RejectedQueue, ids: readonly string[], context: RunContext): Promise<HeldMessage[]> {
  const found = await find(queue, ids, context);
  const missing = ids.filter((id) => !found.some((message) => message.id.startsWith(id)));
  if (missing.length > 0) throw new Error(`No rejected event has the id ${missing.join(", ")}. Nothing was done.`);
  return found;
}
