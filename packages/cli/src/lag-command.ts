import { sharedSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import { COUNTED_AT_MOST, type Lag, readDaysAhead, readLag } from "@herald/common/database/lag";
import { action, type Command, JSON_OPTION } from "./command.ts";
import { depthOf, type QueueDepth, withBroker, withDatabase } from "./connections.ts";
import { counted, table } from "./output.ts";

const { ENDPOINT_CONCURRENCY } = sharedSettings;

export const lagCommand: Command = {
  summary: "says how far behind Herald is",
  help: `  --json   one JSON object instead of a table

Shows how many messages wait in RabbitMQ's queues and for how many consumers. And what PostgreSQL knows: deliveries that are due and since when, those of them that wait for Herald and those that wait for their own receiver, deliveries that wait for their retry or with a disabled
endpoint, dispatchers and the shards without an owner, notices to publish, endpoints to catch up, the days ahead that have partitions, and
the age of the oldest transaction, which keeps dead rows from being vacuumed.
Counts of deliveries end at ${COUNTED_AT_MOST}.
`,
  actions: {
    "": action({
      changes: false,
      usage: "[--json]",
      options: JSON_OPTION,
      async run({ json }, context) {
        const { ENDPOINT_CONCURRENCY: endpointConcurrency } = readConfig({ ENDPOINT_CONCURRENCY }, context.environment);
        context.progress("asks PostgreSQL");
        const { now, lag } = await withDatabase(context, async (queries, clock) => {
          const now = clock.now();
          const lag = await readLag(queries, { now, endpointConcurrency });
          return { now, lag: { ...lag, partitionsAhead: await readDaysAhead(queries, now) } };
        });
        context.progress("asks RabbitMQ");
        const queues = await withBroker(context, async (connection, names) => {
          const { eventQueues, rejectedQueue } = names;
          const depths: QueueDepth[] = [];
          for (const queue of [...eventQueues, rejectedQueue]) depths.push(await depthOf(connection, queue));
          return depths;
        });
        const secondsSince = (time: Date | null) => time && Math.max(0, (now.getTime() - time.getTime()) / 1_000);
        const ages = {
          oldestForHeraldSeconds: secondsSince(lag.oldestForHeraldAt),
          oldestForReceiverSeconds: secondsSince(lag.oldestForReceiverAt),
        };
        context.stdout(json ? `${JSON.stringify({ queues, ...lag, ...ages })}\n` : describe(queues, lag, ages));
      },
    }),
  },
};

function describe(
  queues: QueueDepth[],
  lag: Lag & { partitionsAhead: number },
  ages: Record<`oldestFor${string}`, number | null>,
): string {
  const queueRows = queues.map(({ queue, messages, consumers }) =>
    messages === null ? [queue, "not there", ""] : [queue, String(messages), String(consumers)],
  );
  const some = (count: number) => counted(count, COUNTED_AT_MOST);
  const oldest = (seconds: number | null = null) => (seconds === null ? "" : `oldest for ${Math.round(seconds)} s`);
  const stopped = (since: Date | null) => (since === null ? "" : `since ${since.toISOString()}`);
  const rows = [
    ["deliveries due", some(lag.due), ""],
    ["  wait for Herald", some(lag.dueForHerald), oldest(ages.oldestForHeraldSeconds)],
    ["  wait for their receiver", some(lag.due - lag.dueForHerald), oldest(ages.oldestForReceiverSeconds)],
    ["deliveries scheduled", some(lag.scheduled), "retries"],
    ["deliveries parked", some(lag.parked), "of disabled endpoints"],
    ["dispatchers able", String(lag.dispatchersAble), ""],
    ["dispatchers not able", String(lag.dispatchersUnable), "to make attempts"],
    ["shards owned", String(lag.shardsOwned), ""],
    ["shards unowned", String(lag.shardsUnowned), "their deliveries are not attempted"],
    ["shards stopped", String(lag.shardsStopped), stopped(lag.stoppedSince)],
    ["endpoints enabled", String(lag.endpointsEnabled), ""],
    ["endpoints paused", String(lag.endpointsPaused), "by an admin"],
    ["endpoints disabled", String(lag.endpointsFailed), "after failures"],
    ["catch-ups due", String(lag.catchUps), "after a resume or an edit"],
    ["daily catch-ups due", String(lag.guards), ""],
    ["notices to publish", some(lag.notices), ""],
    ["days ahead", String(lag.partitionsAhead), "that have partitions"],
    ["oldest transaction", `${Math.round(lag.oldestTransactionSeconds)} s`, "keeps dead rows from being vacuumed"],
  ];
  return `${table(["QUEUE", "MESSAGES", "CONSUMERS"], queueRows)}\n${table(["DATABASE", "COUNT", ""], rows)}`;
}
