import { setTimeout as sleep } from "node:timers/promises";
import { sharedSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import { COUNTED_AT_MOST, type Lag, readLag } from "@herald/common/database/lag";
import { oneRow, type Queries, type Reads } from "@herald/common/database/queries";
import { action, type Command, JSON_OPTION } from "../command.ts";
import { messagesIn, withBroker, withDatabase } from "../connections.ts";
import { counted, plural, table } from "../output.ts";

const { ENDPOINT_CONCURRENCY } = sharedSettings;

const stop = action({
  changes: true,
  async run(_, context) {
    const since = await withDatabase(context, async (queries) => {
      const stoppedSince = await stopDispatching(queries);
      await untilGivenUp(queries, context.progress);
      return stoppedSince;
    });
    context.stdout(
      `Dispatching is stopped since ${since.toISOString()}: no attempt is under way, and none begins. "herald dispatch start" lets them begin.\n`,
    );
    return { since };
  },
});

const start = action({
  changes: true,
  async run(_, context) {
    const since = await withDatabase(context, startDispatching);
    context.stdout(
      since === null
        ? "Dispatching was not stopped.\n"
        : `Dispatching was stopped since ${since.toISOString()}: attempts begin within a second.\n`,
    );
    return { stoppedSince: since };
  },
});

const status = action({
  changes: false,
  usage: "[--json]",
  options: JSON_OPTION,
  async run({ json }, context) {
    const { ENDPOINT_CONCURRENCY: endpointConcurrency } = readConfig({ ENDPOINT_CONCURRENCY }, context.environment);
    context.progress("asks PostgreSQL");
    const { lag, dispatchers } = await withDatabase(context, async (queries, clock) => ({
      lag: await readLag(queries, { now: clock.now(), endpointConcurrency }),
      dispatchers: await readLivingDispatchers(queries),
    }));
    context.progress("asks RabbitMQ");
    const inbox = await withBroker(context, (connection, { eventQueues }) => messagesIn(connection, eventQueues));
    const { stoppedSince, shardsStopped, shardsOwned, shardsUnowned, due, scheduled } = lag;
    const state = { stoppedSince, shardsStopped, shardsOwned, shardsUnowned, dispatchers, inbox, due, scheduled };
    context.stdout(json ? `${JSON.stringify(state)}\n` : describe(state));
  },
});

export const dispatchCommand: Command = {
  summary: "stops all attempts, and lets them begin again",
  actions: { stop, start, status },
  help: `  stop     no attempt begins from now on. Events are taken, and their deliveries made. Returns when none is under way any more, which
           takes as long as receivers do, at most 15 s. Where no dispatcher runs, those that are started later begin none
  start    attempts begin within a second
  status   since when they are stopped, which dispatchers are alive, how many of the 256 shards each owns, and what waits in RabbitMQ and
           PostgreSQL

  --json   one JSON object instead of a table

While it lasts, manual deliveries wait, the admin page says so, and herald_shards{state="stopped"} is 256. It is a fact in the database: it lasts until "start", whatever is
started meanwhile. docs/operating/restore.md has the way of a restore, which takes it.
Counts of deliveries end at ${COUNTED_AT_MOST}.
`,
};

type State = Pick<Lag, "stoppedSince" | "shardsStopped" | "shardsOwned" | "shardsUnowned" | "due" | "scheduled"> & {
  dispatchers: LivingDispatcher[];
  inbox: number;
};

function describe({ dispatchers, ...state }: State): string {
  const some = (count: number) => counted(count, COUNTED_AT_MOST);
  const rows = [
    ["stopped since", state.stoppedSince?.toISOString() ?? "", state.stoppedSince ? "" : "it is not stopped"],
    ["shards stopped", String(state.shardsStopped), ""],
    ["shards owned", String(state.shardsOwned), ""],
    [
      "shards unowned",
      String(state.shardsUnowned),
      state.shardsUnowned > 0 ? "their deliveries are not attempted" : "",
    ],
    ["messages in the inbox", String(state.inbox), "wait to be stored"],
    ["deliveries due", some(state.due), "of enabled endpoints"],
    ["deliveries scheduled", some(state.scheduled), "retries"],
  ];
  const owners = dispatchers.map(({ id, name, able, shards }) => [
    name || id,
    able ? "able" : "not able to make attempts",
    String(shards),
  ]);
  return `${table(["DISPATCHING", "", ""], rows)}\n${table(["DISPATCHER", "STATE", "SHARDS"], owners)}`;
}

export interface LivingDispatcher {
  id: string;
  /** Where it runs: host and process id; "" until it has said so. */
  name: string;
  able: boolean;
  shards: number;
}

/**
 * From now on no dispatcher takes a shard, and the owner of one begins nothing more in it and gives it up. A stop that stands already keeps its time.
 *
 * Locks all shards, in the order of their ids, as the heartbeat does.
 */
export async function stopDispatching(queries: Queries): Promise<Date> {
  const rows = await queries.$queryRaw<{ stoppedSince: Date }[]>`
    with going as materialized (
      select id from shard where stopped_at is null order by id for no key update
    ), stopped as (
      update shard set stopped_at = now()
      from going where shard.id = going.id
      returning shard.stopped_at
    )
    select least((select min(stopped_at) from shard), (select min(stopped_at) from stopped)) as "stoppedSince"`;
  return oneRow(rows).stoppedSince;
}

/** Lets dispatchers take the shards. Locks those that are stopped, in the order of their ids. Null if dispatching was not stopped. */
export async function startDispatching(queries: Queries): Promise<Date | null> {
  const [row] = await queries.$queryRaw<{ stoppedSince: Date | null }[]>`
    with stopped as materialized (
      select id, stopped_at from shard where stopped_at is not null order by id for no key update
    ), started as (
      update shard set stopped_at = null
      from stopped where shard.id = stopped.id
    )
    select min(stopped_at) as "stoppedSince" from stopped`;
  return row?.stoppedSince ?? null;
}

/** Locks nothing. Reads the whole of `process` and `shard`. */
export async function readLivingDispatchers(reads: Reads): Promise<LivingDispatcher[]> {
  return await reads.$queryRaw<LivingDispatcher[]>`
    select process.id, process.name, process.able, count(shard.id)::int as "shards"
    from process left join shard on shard.owner = process.id
    where process.alive_until > now()
    group by process.id
    order by process.name, process.id`;
}

const LOOK_EVERY_MS = 100;

/**
 * Resolves once no living dispatcher owns a shard. One that gives a shard up has settled all that it had begun there, which takes as long
 * as its receivers do, at most 15 s; one that has died counts as alive for six seconds.
 */
export async function untilGivenUp(reads: Reads, progress: (text: string) => void): Promise<void> {
  for (;;) {
    const owners = (await readLivingDispatchers(reads)).filter(({ shards }) => shards > 0);
    if (owners.length === 0) return;
    const shards = owners.reduce((sum, owner) => sum + owner.shards, 0);
    progress(`waits until ${plural(owners.length, "dispatcher")} have given up ${plural(shards, "shard")}`);
    await sleep(LOOK_EVERY_MS);
  }
}
