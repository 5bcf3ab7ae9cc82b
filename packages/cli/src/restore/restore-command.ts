import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Queries } from "@herald/common/database/queries";
import { isUtcTime } from "@herald/contracts";
import { depthOf, withBroker } from "../broker.ts";
import { type Command, type RunContext, UsageError } from "../command.ts";
import { withDatabase } from "../database.ts";
import { table } from "../output.ts";
import {
  beginRestore,
  COUNTED_AT_MOST,
  endRestore,
  type RestoreState,
  readRestoreState,
  timeOfDatabase,
} from "./restore-state.ts";

export const restoreCommand: Command = {
  summary: "holds all attempts after a restore of PostgreSQL, until its gap is closed",
  help: `herald restore: holds all attempts after a restore of PostgreSQL, until its gap is closed

  herald restore begin --restored-to TIME
  herald restore status [--json]
  herald restore end

  begin    for a database that was put back to a backup, before its dispatchers start: no attempt begins from now on. Events are
           taken, and their deliveries made. Returns when each dispatcher that runs has heard of it. Another TIME corrects the first one
  status   since when attempts are held, who has heard of it, and what waits in RabbitMQ and PostgreSQL
  end      says that the gap is closed: attempts begin within a second

  --restored-to TIME   what came later is missing from the database, such as 2026-01-31T12:00:00Z
  --json               one JSON object instead of a table

While it lasts, /readyz of dispatchers answers 503, manual deliveries wait, and herald_attempts_held is 1. docs/operating/restore.md has the whole way.
Counts of deliveries end at ${COUNTED_AT_MOST}.
`,
  async run([action, ...args], context) {
    if (action === "begin") return await begin(args, context);
    if (action === "status") return await status(args, context);
    if (action === "end") return await end(args, context);
    throw new UsageError("It takes one of begin, status, end.");
  },
};

/** How often dispatchers are asked for. */
const LOOK_EVERY_MS = 500;

async function begin(args: string[], context: RunContext): Promise<void> {
  const { values } = parseArgs({ args, options: { "restored-to": { type: "string" } } });
  const text = values["restored-to"];
  if (!isUtcTime(text)) throw new UsageError("--restored-to takes a time such as 2026-01-31T12:00:00Z.");
  const restoredTo = new Date(text);
  const { underWay } = await withDatabase(context, async (prisma) => {
    if (restoredTo > (await timeOfDatabase(prisma))) throw new UsageError(`--restored-to is in the future: ${text}.`);
    await beginRestore(prisma, restoredTo);
    return await untilHeard(prisma, context);
  });
  const since = restoredTo.toISOString();
  context.stdout(
    `No attempt begins. What came since ${since} is missing: let each outbox send it again (herald relay replay --since ${since}), ` +
      'and look through what admins changed. Then: "herald restore end".\n',
  );
  if (underWay > 0) context.stderr(`${counted(underWay)} attempts had begun before, and end by themselves.\n`);
}

/** Whoever asked PostgreSQL after the row was there has heard of it. */
async function untilHeard(queries: Queries, { progress }: RunContext): Promise<RestoreState> {
  const committedAt = await timeOfDatabase(queries);
  for (;;) {
    const state = await readRestoreState(queries, committedAt);
    if (state.unheard === 0) return state;
    progress(`waits until ${state.unheard} of ${state.dispatchers} dispatchers have heard of it`);
    await sleep(LOOK_EVERY_MS);
  }
}

async function status(args: string[], context: RunContext): Promise<void> {
  const { values } = parseArgs({ args, options: { json: { type: "boolean", default: false } } });
  context.progress("asks PostgreSQL");
  const state = await withDatabase(context, (prisma) => readRestoreState(prisma));
  context.progress("asks RabbitMQ");
  const inbox = await withBroker(context, async (connection, { inboxQueues }) => {
    let messages = 0;
    for (const queue of inboxQueues) messages += (await depthOf(connection, queue)).messages ?? 0;
    return messages;
  });
  if (values.json) context.stdout(`${JSON.stringify({ ...state, inbox })}\n`);
  else context.stdout(describe(state, inbox));
}

async function end(args: string[], context: RunContext): Promise<void> {
  parseArgs({ args, options: {} });
  const ended = await withDatabase(context, endRestore);
  if (ended) context.stdout(`The restore to ${ended.restoredTo.toISOString()} has ended: attempts begin.\n`);
  else context.stdout("No restore was under way.\n");
}

function describe({ restore, dispatchers, unheard, underWay, waiting }: RestoreState, inbox: number): string {
  if (!restore) return "No restore is under way: attempts begin.\n";
  return table(
    ["RESTORE", "", ""],
    [
      ["restored to", restore.restoredTo.toISOString(), "what came later is missing, until it comes again"],
      ["attempts held since", restore.begunAt.toISOString(), ""],
      ["dispatchers", String(dispatchers), unheard > 0 ? `${unheard} have not heard of it yet` : ""],
      ["attempts under way", counted(underWay), "had begun before, and end by themselves"],
      ["events in RabbitMQ", String(inbox), "wait to be stored"],
      ["deliveries that wait", counted(waiting), "for the end of the restore"],
    ],
  );
}

function counted(count: number): string {
  return count >= COUNTED_AT_MOST ? `${count} or more` : String(count);
}
