import {
  action,
  type Command,
  JSON_OPTION,
  onlyWord,
  positiveInteger,
  type RunContext,
  UsageError,
} from "../command.ts";
import { withBroker } from "../connections.ts";
import { oneLine, plural, table } from "../output.ts";
import { factsOf, type HeldMessage, originalHeaders, type RejectedQueue, withRejectedQueue } from "./rejected-queue.ts";

const MIN_ID_LENGTH = 4;

const list = action({
  changes: false,
  usage: "[--limit 50] [--json]",
  options: { limit: { type: "string", default: "50" }, ...JSON_OPTION },
  async run(values, context) {
    const limit = positiveInteger("--limit", values.limit);
    const { stdout, stderr } = context;
    await onQueue(context, async (queue) => {
      const rows: string[][] = [];
      for await (const message of queue.messages(limit)) {
        const { id, content, reason } = message;
        const bytes = content.byteLength;
        const facts = factsOf(message);
        if (values.json) stdout(`${JSON.stringify({ id, bytes, ...facts, reason })}\n`);
        else rows.push([id, `${bytes}`, facts.type ?? "-", facts.organizationId ?? "-", reason].map(oneLine));
      }
      if (rows.length > 0) stdout(table(["ID", "BYTES", "TYPE", "ORGANIZATION", "REASON"], rows));
      if (queue.depth > limit) stderr(`${queue.depth - limit} more; --limit ${queue.depth} lists all.\n`);
      else stderr(`${queue.depth} rejected events.\n`);
    });
  },
});

const show = action({
  changes: false,
  usage: "ID [--body]",
  options: { body: { type: "boolean", default: false } },
  words: true,
  async run({ body }, context, words) {
    const id = onlyWord(idsOf(words), "one id");
    const { stdout } = context;
    await onQueue(context, async (queue) => {
      const [message] = await find(queue, [id], context);
      if (!message) throw new Error(`No rejected event has the id ${id}.`);
      if (body) return stdout(message.content);
      const { eventId, type, organizationId } = factsOf(message);
      const facts = {
        id: message.id,
        reason: message.reason,
        event: eventId ?? "-",
        type: type ?? "-",
        organization: organizationId ?? "-",
        headers: JSON.stringify(originalHeaders(message)),
        bytes: String(message.content.byteLength),
      };
      const lines = Object.entries(facts).map(([name, value]) => `${`${name}:`.padEnd(14)}${value}\n`);
      stdout(`${lines.join("")}\n${message.content.toString("utf8")}\n`);
    });
  },
});

const replay = action({
  changes: true,
  usage: "ID... | --all",
  options: { all: { type: "boolean", default: false } },
  words: true,
  async run({ all }, context, words) {
    const ids = idsOf(words);
    if (all === ids.length > 0) throw new UsageError("It takes ids, or --all.");
    let count = 0;
    await onQueue(context, async (queue) => {
      for await (const message of all ? queue.messages() : await findAll(queue, ids, context)) {
        await message.replay();
        context.progress(`${++count} of ${queue.depth} replayed`);
      }
      context.stdout(`Replayed ${plural(count, "event")}.\n`);
    });
    return { replayed: count };
  },
});

const discard = action({
  changes: true,
  usage: "ID...",
  words: true,
  async run(_, context, words) {
    const ids = idsOf(words);
    if (ids.length === 0) throw new UsageError("It takes ids.");
    let discarded: string[] = [];
    await onQueue(context, async (queue) => {
      const found = await findAll(queue, ids, context);
      for (const message of found) message.discard();
      discarded = found.map(({ id }) => id);
      context.stdout(`Discarded ${plural(found.length, "event")}.\n`);
    });
    return { discarded };
  },
});

export const rejectedCommand: Command = {
  summary: "shows and replays events that broke the contract",
  actions: { list, show, replay, discard },
  help: `  list      the first events of the queue herald.events.rejected: id, size, what can be read of them, and why they were rejected; --json
            prints one object a line
  show      everything about one event; --body prints its bytes and nothing else, to correct and emit them again
  replay    publishes events again as their emitters did, for instance after a fix of the publisher; what still breaks the contract comes back
  discard   takes events out of the queue for good

An id is made of a message's content. Its first ${MIN_ID_LENGTH} characters are enough, where no other id begins with them. Messages of the
same content share an id, and a command treats them together. No message gets lost: a replayed one leaves the queue when RabbitMQ
has confirmed its copy, and one that was only read goes back.
`,
};

function onQueue(context: RunContext, task: (queue: RejectedQueue) => Promise<void>): Promise<void> {
  return withBroker(context, (connection, names) => withRejectedQueue(connection, names, task));
}

function idsOf(words: string[]): string[] {
  const short = words.find((id) => id.length < MIN_ID_LENGTH);
  if (short === undefined) return words;
  throw new UsageError(`An id has at least ${MIN_ID_LENGTH} characters; "${short}" has fewer.`);
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
