import { parseArgs } from "node:util";
import { BUCKETS } from "@herald/common/broker/cell";
import { names } from "@herald/common/broker/topology";
import { serviceSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import type { Queries } from "@herald/common/database/queries";
import { catchUpAgainAt } from "@herald/common/database/update-endpoint";
import type { Clock } from "@herald/common/runtime/clock";
import { readCaFile } from "@herald/common/security/server-certificate";
import { brokerAddress, depthOf, withBroker } from "../broker.ts";
import { type Command, type CommandContext, type RunContext, UsageError } from "../command.ts";
import { databaseAddress, withQueries } from "../database.ts";
import { plural } from "../doctor/finding.ts";
import { table } from "../output.ts";
import { readSecretBox } from "../rotate-keys/read-secret-box.ts";
import { countEndpoints, type Databases } from "./bucket-rows.ts";
import { checkMove } from "./check-move.ts";
import { cancelMove, forgetBucket } from "./forget-bucket.ts";
import { givingSettings } from "./giving-settings.ts";
import type { Beginning } from "./hold.ts";
import { moveBucket } from "./move-bucket.ts";

const { DATABASE_TIMEOUT_SECONDS } = serviceSettings;

/** Rows of a page. Each may have a body. */
const PAGE_SIZE = 100;

export const bucketsCommand: Command = {
  summary: "moves a bucket of organizations from one cell to another",
  help: `herald buckets: moves a bucket of organizations from one cell to another

  herald buckets move BUCKET
  herald buckets forget BUCKET
  herald buckets cancel BUCKET
  herald buckets status [--json]

  move     holds the deliveries of the bucket's organizations in the giving cell, copies everything of theirs, and begins to deliver in the
           taking one. Cut off at any moment, it is run again. No publisher may take events of the bucket meanwhile: they wait in RabbitMQ
  forget   after the move: erases what the giving database still has of the bucket
  cancel   before the end of a move: leaves the bucket to the giving cell
  status   the endpoints of each bucket in one database, and those that a move holds

  BUCKET   a digit from 0 to f
  --json   one object a line instead of a table

It takes the settings of the cell that takes the bucket: DATABASE_URL, AMQP_URL, and for the move its dispatchers' SECRET_KEYS. The giving cell's database
is FROM_DATABASE_URL, or comes from a file that FROM_DATABASE_URL_FILE names, with FROM_DATABASE_CA_FILE for TLS. docs/operating/cells.md has the whole way.
`,
  async run([action, ...args], context) {
    if (action === "status") return await status(args, context);
    const bucket = bucketOf(args);
    if (action === "move") return await move(bucket, context);
    if (action === "forget") return await forget(bucket, context);
    if (action === "cancel") return await cancel(bucket, context);
    throw new UsageError("It takes one of move, forget, cancel, status.");
  },
};

function bucketOf(args: string[]): string {
  const { positionals } = parseArgs({ args, options: {}, allowPositionals: true });
  const [bucket] = positionals;
  if (positionals.length === 1 && bucket !== undefined && BUCKETS.includes(bucket)) return bucket;
  throw new UsageError("It takes one bucket: a digit from 0 to f.");
}

async function move(bucket: string, context: RunContext): Promise<void> {
  const box = readSecretBox(context);
  const timeout = statementTimeout(context);
  const moved = await withBoth(context, async (databases, clock) => {
    context.progress("looks at both databases");
    await checkMove(databases, bucket, box);
    return await moveBucket(databases, bucket, {
      beginning: () => beginningOf(clock, timeout),
      pageSize: PAGE_SIZE,
      assertUnserved: () => assertUnserved(bucket, context),
      onProgress: context.progress,
    });
  });
  context.stdout(
    moved.wasOver
      ? `Bucket ${bucket} was moved before: ${plural(moved.endpoints, "endpoint")}. Nothing was copied.\n`
      : `Bucket ${bucket} was moved: ${plural(moved.organizations, "organization")}, ${plural(moved.endpoints, "endpoint")}.\n`,
  );
  context.stdout(
    `Now start the processes of the taking cell with bucket ${bucket} in INBOX_BUCKETS, lead its requests there, and then ` +
      `"herald buckets forget ${bucket}".\n`,
  );
}

async function forget(bucket: string, context: RunContext): Promise<void> {
  const { endpoints, events } = await withBoth(context, (databases, clock) =>
    forgetBucket(databases, bucket, { pageSize: PAGE_SIZE, now: clock.now(), onProgress: context.progress }),
  );
  context.stdout(
    `The giving database has forgotten bucket ${bucket}: ${plural(endpoints, "endpoint")}, ${plural(events, "event")}. ` +
      "The history of the endpoints is erased by its publishers.\n",
  );
}

async function cancel(bucket: string, context: RunContext): Promise<void> {
  const timeout = statementTimeout(context);
  const endpoints = await withBoth(context, (databases, clock) =>
    cancelMove(databases, bucket, beginningOf(clock, timeout)),
  );
  context.stdout(
    `Bucket ${bucket} stays where it was, and its giving cell serves it again: ${plural(endpoints, "endpoint")}.\n`,
  );
}

async function status(args: string[], context: RunContext): Promise<void> {
  const { values } = parseArgs({ args, options: { json: { type: "boolean", default: false } } });
  const { cell } = brokerAddress(context);
  const counts = await withQueries(databaseAddress(context), countEndpoints);
  const rows = counts.map((each) => ({ ...each, served: cell.buckets.includes(each.bucket) }));
  if (values.json) {
    for (const row of rows) context.stdout(`${JSON.stringify(row)}\n`);
    return;
  }
  context.stdout(
    table(
      ["BUCKET", "SERVED HERE", "ENDPOINTS", "HELD BY A MOVE", "MOVED AWAY"],
      rows.map(({ bucket, served, endpoints, moving, moved }) => [
        bucket,
        served ? "yes" : "no",
        ...[endpoints, moving, moved].map(String),
      ]),
    ),
  );
}

/** @throws where a publisher takes events of the bucket: they would be stored in a database while it is read */
async function assertUnserved(bucket: string, context: RunContext): Promise<void> {
  const queue = names(brokerAddress(context).namespace).inboxQueues[BUCKETS.indexOf(bucket)] as string;
  const { consumers } = await withBroker(context, (connection) => depthOf(connection, queue));
  if (!consumers) return;
  throw new Error(
    `${consumers} publishers take events from ${queue}. Restart all processes of the giving cell without bucket ${bucket} in INBOX_BUCKETS, ` +
      "and those of the taking one with it only after the move. Events wait in RabbitMQ meanwhile.",
  );
}

function statementTimeout({ environment }: CommandContext): { statementTimeoutMs: number } {
  const { DATABASE_TIMEOUT_SECONDS: seconds } = readConfig({ DATABASE_TIMEOUT_SECONDS }, environment);
  return { statementTimeoutMs: seconds * 1_000 };
}

function beginningOf(clock: Clock, timeout: { statementTimeoutMs: number }): Beginning {
  const now = clock.now();
  return { now, catchUpAgainAt: catchUpAgainAt(now, timeout) };
}

/** The time is that of the taking database. */
async function withBoth<T>(
  context: CommandContext,
  task: (databases: Databases<Queries>, clock: Clock) => Promise<T>,
): Promise<T> {
  const { FROM_DATABASE_URL: url, FROM_DATABASE_CA_FILE } = readConfig(givingSettings, context.environment);
  const ca = readCaFile("FROM_DATABASE_CA_FILE", FROM_DATABASE_CA_FILE);
  return await withQueries(databaseAddress(context), (to, clock) =>
    withQueries({ url, ca }, (from) => task({ from, to }, clock)),
  );
}
