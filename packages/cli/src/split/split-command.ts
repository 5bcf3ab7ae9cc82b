import { BUCKETS, readBuckets } from "@herald/common/broker/cell";
import { names } from "@herald/common/broker/topology";
import { readConfig } from "@herald/common/config/read-config";
import type { Settings } from "@herald/common/config/settings";
import { action, type Command, onlyWord, type RunContext, UsageError } from "../command.ts";
import { brokerAddress, databaseAddress, depthOf, withBroker, withDatabase } from "../connections.ts";
import { split } from "./split.ts";

export const splitSettings = {
  STANDBY_DATABASE_URL: {
    type: "string",
    required: true,
    secret: true,
    description:
      "The standby that becomes the new cell's database, as DATABASE_URL is its primary; herald split alone reads it.",
  },
} as const satisfies Settings;

export const splitCommand: Command = {
  summary: "splits a cell: its PostgreSQL standby becomes the database of a new one",
  help: `  BUCKETS    what the new cell gets, as 8-f or 8,a-c. INBOX_BUCKETS are those that this cell keeps
  --by-hand  waits until you have promoted the standby, where no user may call pg_promote

All services of the cell are stopped, and start on both sides afterwards. It stops dispatching, waits until the standby has everything, promotes
it, lets each side forget the endpoints of the other, and starts dispatching of both: about a second, whatever the history's size.
Cut off at any moment, it is called again: it goes on, or says what to do. docs/operating/cells.md has the whole way.

It takes the cell's settings, with the INBOX_BUCKETS and the CELL that it has from now on, and STANDBY_DATABASE_URL, which may come from a file that
STANDBY_DATABASE_URL_FILE names. DATABASE_CA_FILE is for both.
`,
  actions: {
    "": action({
      changes: true,
      usage: "BUCKETS [--by-hand]",
      options: { "by-hand": { type: "boolean", default: false } },
      words: true,
      async run(values, context, words) {
        const given = givenBuckets(words);
        const { STANDBY_DATABASE_URL } = readConfig(splitSettings, context.environment);
        const { cell } = brokerAddress(context);
        const twice = given.filter((bucket) => cell.buckets.includes(bucket));
        if (twice.length > 0) {
          throw new Error(
            `INBOX_BUCKETS has ${twice.join(", ")} too. Take what the new cell gets out of it, for all processes of this cell, and call this again with that.`,
          );
        }
        const address = databaseAddress(context);
        const options = {
          kept: cell.buckets,
          given,
          byHand: values["by-hand"],
          assertUnserved: () => assertUnserved([...cell.buckets, ...given], context),
          onProgress: context.progress,
        };
        context.progress("looks at both databases");
        const stoppedMs = await withDatabase(address, (primary) =>
          withDatabase({ ...address, url: STANDBY_DATABASE_URL }, (standby) => split({ primary, standby }, options)),
        );
        context.stdout(
          stoppedMs === undefined
            ? "The cell had been split before. What was left over is forgotten.\n"
            : `The cell is split. Dispatching was stopped for ${(stoppedMs / 1_000).toFixed(2)} s.\n`,
        );
        context.stdout(
          `Now start this cell with INBOX_BUCKETS=${cell.buckets.join(",")}, and the new one with INBOX_BUCKETS=${given.join(",")}, a CELL of its own and the ` +
            "promoted server as its DATABASE_URL. Drop the standby's replication slot on the primary.\n",
        );
        return { kept: cell.buckets, given, stoppedMs };
      },
    }),
  },
};

function givenBuckets(positionals: readonly string[]): string[] {
  const text = onlyWord(positionals, "the buckets of the new cell, such as 8-f");
  try {
    return readBuckets(text);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** @throws where a publisher takes events of these buckets */
async function assertUnserved(buckets: readonly string[], context: RunContext): Promise<void> {
  const { inboxQueues } = names(brokerAddress(context).namespace);
  await withBroker(context, async (connection) => {
    for (const bucket of buckets) {
      const queue = inboxQueues[BUCKETS.indexOf(bucket)] as string;
      const { consumers } = await depthOf(connection, queue);
      if (!consumers) continue;
      throw new Error(
        `${consumers} publishers take events of bucket ${bucket} from ${queue}. Stop all of the cell's services; if they are stopped, another cell has the bucket.`,
      );
    }
  });
}
