import { parseArgs } from "node:util";
import type { Names } from "@herald/common/broker/topology";
import { sharedSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import { COUNTED_AT_MOST, type Lag, readLag } from "@herald/common/database/lag";
import { depthOf, type QueueDepth, withBroker } from "./broker.ts";
import type { Command } from "./command.ts";
import { withDatabase } from "./database.ts";
import { table } from "./output.ts";

export const lagCommand: Command = {
  summary: "says how far behind Herald is",
  help: `herald lag: says how far behind Herald is

  herald lag [--json]

  --json   one JSON object instead of a table

Shows what waits in RabbitMQ's queues and for how many consumers, and what PostgreSQL knows: deliveries that are due and since
when, those of them that wait for Herald and those that wait for their own receiver, deliveries that wait for their retry or with a disabled endpoint, notices to publish, endpoints to catch up, the days ahead
that have partitions, and the age of the oldest transaction, which keeps dead rows from being vacuumed.
Counts of deliveries end at ${COUNTED_AT_MOST}.
`,
  async run(args, context) {
    const { values } = parseArgs({ args, options: { json: { type: "boolean", default: false } } });
    const { ENDPOINT_CONCURRENCY } = sharedSettings;
    const { ENDPOINT_CONCURRENCY: endpointConcurrency } = readConfig({ ENDPOINT_CONCURRENCY }, context.environment);
    context.progress("asks PostgreSQL");
    const { now, lag } = await withDatabase(context, async (prisma, clock) => {
      const now = clock.now();
      return { now, lag: await readLag(prisma, { now, endpointConcurrency }) };
    });
    context.progress("asks RabbitMQ");
    const queues = await withBroker(context, async (connection, names) => {
      const depths: QueueDepth[] = [];
      for (const queue of queuesOf(names)) depths.push(await depthOf(connection, queue));
      return depths;
    });
    const secondsSince = (time: Date | null) => time && Math.max(0, (now.getTime() - time.getTime()) / 1_000);
    const ages = {
      oldestForHeraldSeconds: secondsSince(lag.oldestForHeraldAt),
      oldestForReceiverSeconds: secondsSince(lag.oldestForReceiverAt),
    };
    if (values.json) context.stdout(`${JSON.stringify({ queues, ...lag, ...ages })}\n`);
    else context.stdout(describe(queues, lag, ages));
  },
};

function queuesOf({ inboxQueues, hintsQueue, manualQueue, rejectedQueue }: Names): string[] {
  return [...inboxQueues, hintsQueue, manualQueue, rejectedQueue];
}

interface Ages {
  oldestForHeraldSeconds: number | null;
  oldestForReceiverSeconds: number | null;
}

function describe(queues: QueueDepth[], lag: Lag, { oldestForHeraldSeconds, oldestForReceiverSeconds }: Ages): string {
  const queueRows = queues.map(({ queue, messages, consumers }) =>
    messages === null ? [queue, "not there", ""] : [queue, String(messages), String(consumers)],
  );
  const rows = [
    ["deliveries due", counted(lag.due), ""],
    ["  wait for Herald", counted(lag.dueForHerald), oldest(oldestForHeraldSeconds)],
    ["  wait for their receiver", counted(lag.due - lag.dueForHerald), oldest(oldestForReceiverSeconds)],
    ["deliveries scheduled", counted(lag.scheduled), "retries, and attempts under way"],
    ["deliveries set aside", counted(lag.disabled), "of disabled endpoints"],
    ["endpoints enabled", String(lag.endpointsEnabled), ""],
    ["endpoints paused", String(lag.endpointsPaused), "by an admin"],
    ["endpoints disabled", String(lag.endpointsFailed), "after failures"],
    ["catch-ups due", String(lag.catchUps), "after a resume or an edit"],
    ["daily catch-ups due", String(lag.guards), ""],
    ["notices to publish", counted(lag.notices), ""],
    ["days ahead", String(lag.partitionsAhead), "that have partitions"],
    ["oldest transaction", `${Math.round(lag.oldestTransactionSeconds)} s`, "keeps dead rows from being vacuumed"],
  ];
  return `${table(["QUEUE", "MESSAGES", "CONSUMERS"], queueRows)}\n${table(["DATABASE", "COUNT", ""], rows)}`;
}

function oldest(seconds: number | null): string {
  return seconds === null ? "" : `oldest for ${Math.round(seconds)} s`;
}

function counted(count: number): string {
  return count >= COUNTED_AT_MOST ? `${count} or more` : String(count);
}
