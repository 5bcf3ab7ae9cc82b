import { setTimeout as sleep } from "node:timers/promises";
import type { Queries } from "@herald/common/database/queries";
import { action, type Command, JSON_OPTION, type RunContext, timeOf, UsageError } from "../command.ts";
import { depthOf, withBroker, withDatabase } from "../connections.ts";
import { counted, table } from "../output.ts";
import {
  beginRestore,
  COUNTED_AT_MOST,
  endRestore,
  type RestoreState,
  readRestoreState,
  timeOfDatabase,
} from "./restore-state.ts";

/** How often dispatchers are asked for. */
const LOOK_EVERY_MS = 500;

const begin = action({
  usage: "--restored-to TIME",
  options: { "restored-to": { type: "string" } },
  async run(values, context) {
    const restoredTo = timeOf("--restored-to", values["restored-to"]);
    const since = restoredTo.toISOString();
    const { underWay } = await withDatabase(context, async (queries) => {
      if (restoredTo > (await timeOfDatabase(queries)))
        throw new UsageError(`--restored-to is in the future: ${since}.`);
      await beginRestore(queries, restoredTo);
      return await untilHeard(queries, context);
    });
    context.stdout(
      `No attempt begins. What came since ${since} is missing: let each outbox send it again (herald relay replay --since ${since}), ` +
        'and look through what admins changed. Then: "herald restore end".\n',
    );
    if (underWay > 0) context.stderr(`${some(underWay)} attempts had begun before, and end by themselves.\n`);
  },
});

const status = action({
  usage: "[--json]",
  options: JSON_OPTION,
  async run({ json }, context) {
    context.progress("asks PostgreSQL");
    const state = await withDatabase(context, (queries) => readRestoreState(queries));
    context.progress("asks RabbitMQ");
    const inbox = await withBroker(context, async (connection, { inboxQueues, behindQueues }) => {
      let messages = 0;
      for (const queue of [...inboxQueues, ...behindQueues])
        messages += (await depthOf(connection, queue)).messages ?? 0;
      return messages;
    });
    context.stdout(json ? `${JSON.stringify({ ...state, inbox })}\n` : describe(state, inbox));
  },
});

const end = action({
  async run(_, context) {
    const ended = await withDatabase(context, endRestore);
    if (ended) context.stdout(`The restore to ${ended.restoredTo.toISOString()} has ended: attempts begin.\n`);
    else context.stdout("No restore was under way.\n");
  },
});

export const restoreCommand: Command = {
  summary: "holds all attempts after a restore of PostgreSQL, until its gap is closed",
  actions: { begin, status, end },
  help: `  begin    for a database that was put back to a backup, before its dispatchers start: no attempt begins from now on. Events are
           taken, and their deliveries made. Returns when each dispatcher that runs has heard of it. Another TIME corrects the first one
  status   since when attempts are held, who has heard of it, and what waits in RabbitMQ and PostgreSQL
  end      says that the gap is closed: attempts begin within a second

  --restored-to TIME   what came later is missing from the database, such as 2026-01-31T12:00:00Z
  --json               one JSON object instead of a table

While it lasts, /readyz of dispatchers answers 503, manual deliveries wait, and herald_attempts_held is 1. docs/operating/restore.md has the whole way.
Counts of deliveries end at ${COUNTED_AT_MOST}.
`,
};

/** Waits for every dispatcher. A dispatcher that asked PostgreSQL after the row was committed knows of the restore. */
async function untilHeard(queries: Queries, { progress }: RunContext): Promise<RestoreState> {
  const committedAt = await timeOfDatabase(queries);
  for (;;) {
    const state = await readRestoreState(queries, committedAt);
    if (state.unheard === 0) return state;
    progress(`waits until ${state.unheard} of ${state.dispatchers} dispatchers have heard of it`);
    await sleep(LOOK_EVERY_MS);
  }
}

function describe({ restore, dispatchers, unheard, underWay, waiting }: RestoreState, inbox: number): string {
  if (!restore) return "No restore is under way: attempts begin.\n";
  return table(
    ["RESTORE", "", ""],
    [
      ["restored to", restore.restoredTo.toISOString(), "what came later is missing, until it comes again"],
      ["attempts held since", restore.begunAt.toISOString(), ""],
      ["dispatchers", String(dispatchers), unheard > 0 ? `${unheard} have not heard of it yet` : ""],
      ["attempts under way", some(underWay), "had begun before, and end by themselves"],
      ["events in RabbitMQ", String(inbox), "wait to be stored"],
      ["deliveries that wait", some(waiting), "for the end of the restore"],
    ],
  );
}

function some(count: number): string {
  return counted(count, COUNTED_AT_MOST);
}
