import { setTimeout as sleep } from "node:timers/promises";
import { Prisma } from "@herald/common/database/generated/client";
import type { Queries, Reads } from "@herald/common/database/queries";
import { oneRow } from "../connections.ts";
import { startDispatching, stopDispatching, untilGivenUp } from "../dispatch/dispatch-state.ts";
import { assertFollows, assertRelated, assertUnused, readServer } from "./servers.ts";

export interface Sides {
  /** The primary of the cell that is split. */
  primary: Queries;
  /** The standby, which becomes the database of the new cell. */
  standby: Queries;
}

export interface SplitOptions {
  /** Buckets that stay with the primary. */
  kept: readonly string[];
  /** Buckets that the new cell gets. */
  given: readonly string[];
  /** Whether the operator promotes the standby. */
  byHand: boolean;
  /** Throws where a publisher consumes events of these buckets. */
  assertUnserved: () => Promise<void>;
  /** Receives what the split is doing. Where it throws, the split ends there. */
  onProgress: (text: string) => void;
}

const LOOK_EVERY_MS = 50;
/** The time limit for the standby to replay the rest: it was close behind, and nobody writes to the primary. */
const REPLAYS_WITHIN_MS = 60_000;
/** PostgreSQL ends a statement after thirty seconds. */
const PROMOTED_WITHIN_SECONDS = 20;
const PAGE_SIZE = 1_000;

/** The bucket of the organization, as `bucketOf` computes it. */
const BUCKET = Prisma.raw("left(encode(sha256(convert_to(organization_id, 'UTF8')), 'hex'), 1)");

/**
 * Splits a cell: its standby becomes the database of a new one, and each of the two forgets the endpoints of the other. It may be cut off
 * at any line, and called again.
 *
 * Dispatching is stopped in the primary, and so in the standby, which has that with all the rest. So no attempt begins in either database,
 * even if a dispatcher is started, until both have deleted the other's endpoints. Each deletes only what the other one has.
 *
 * @returns how long dispatching was stopped, in milliseconds; undefined where an earlier call had split it
 */
export async function split(sides: Sides, options: SplitOptions): Promise<number | undefined> {
  const { primary, standby } = sides;
  const { kept, given, assertUnserved, onProgress } = options;
  const states = [await readServer(primary), await readServer(standby)] as const;
  assertRelated(...states);
  if (!areStoppedAlike(states) && !states[1].inRecovery) {
    await assertOver(sides, options);
    await forgetRest(sides, onProgress);
    return undefined;
  }
  await assertUnserved();
  await assertUnused(primary, "the primary");
  await assertUnused(standby, "the standby");
  if (states[1].inRecovery) {
    if (states[0].stoppedSince !== null) {
      throw new Error(
        `Dispatching of this cell is stopped since ${states[0].stoppedSince.toISOString()}, and nothing was split yet. If a split was cut off: ` +
          '"herald dispatch start", and then this again. If a restore is under way, end it first.',
      );
    }
    await assertKnown(primary, options);
    await assertFollows(sides, states[0], !options.byHand);
    await stop(sides, onProgress);
    await promote(standby, options);
    if (!areStoppedAlike([await readServer(primary), await readServer(standby)])) {
      throw new Error("The standby was promoted before dispatching was stopped. Do not use it: make a new standby.");
    }
  }
  onProgress("each side forgets the endpoints of the other");
  await forgetEndpoints(primary, { buckets: given, other: standby });
  await forgetEndpoints(standby, { buckets: kept, other: primary });
  // The primary has them too, and tells them.
  await standby.$executeRaw`delete from notice`;
  await standby.$executeRaw`delete from exhaustion`;
  await startDispatching(standby);
  const stoppedSince = await startDispatching(primary);
  const startedAt = await timeOfDatabase(primary);
  await forgetRest(sides, onProgress);
  return startedAt.getTime() - (stoppedSince ?? startedAt).getTime();
}

type State = Awaited<ReturnType<typeof readServer>>;

/** Whether both were stopped at once: the standby was promoted while dispatching of its primary was stopped. */
function areStoppedAlike([primary, standby]: readonly [State, State]): boolean {
  return (
    !standby.inRecovery &&
    primary.stoppedSince !== null &&
    standby.stoppedSince?.getTime() === primary.stoppedSince.getTime()
  );
}

/** @throws where the database has endpoints that neither side would keep */
async function assertKnown(reads: Reads, { kept, given }: SplitOptions): Promise<void> {
  const others = await reads.$queryRaw<{ bucket: string }[]>`
    select distinct ${BUCKET} as "bucket" from webhook_endpoint
    where ${BUCKET} <> all (${[...kept, ...given]}::text[])
    order by 1`;
  if (others.length === 0) return;
  throw new Error(
    `The database has endpoints of the buckets ${others.map(({ bucket }) => bucket).join(", ")}, which neither INBOX_BUCKETS nor the new cell has.`,
  );
}

/** @throws where the two are not what a split has left */
async function assertOver({ primary, standby }: Sides, { kept, given }: SplitOptions): Promise<void> {
  const astray = (await pageOf(primary, given)).length + (await pageOf(standby, kept)).length;
  if (astray > 0) {
    throw new Error(
      "The standby was promoted, but not by a split with these buckets: both databases have endpoints of the other. Start no service on it: make a new standby.",
    );
  }
  for (const [name, reads] of Object.entries({ DATABASE_URL: primary, STANDBY_DATABASE_URL: standby })) {
    const { stoppedSince } = await readServer(reads);
    if (stoppedSince === null) continue;
    throw new Error(
      `The cell is split, but dispatching is stopped in the database of ${name} since ${stoppedSince.toISOString()}. Unless a restore of it is under way: ` +
        '"herald dispatch start" there.',
    );
  }
}

/** Stops dispatching, and returns when no dispatcher lives and the standby has everything. Where it fails, nothing is stopped. */
async function stop({ primary, standby }: Sides, onProgress: SplitOptions["onProgress"]): Promise<void> {
  const stoppedSince = await stopDispatching(primary);
  try {
    await untilGivenUp(primary, onProgress);
    const [{ lsn } = { lsn: "" }] = await primary.$queryRaw<
      { lsn: string }[]
    >`select pg_current_wal_lsn()::text as "lsn"`;
    const untilMs = performance.now() + REPLAYS_WITHIN_MS;
    for (;;) {
      const [row] = await standby.$queryRaw<{ isThere: boolean }[]>`
        select pg_last_wal_replay_lsn() >= ${lsn}::pg_lsn
          and not exists (select from shard where stopped_at is distinct from ${stoppedSince}::timestamptz) as "isThere"`;
      if (row?.isThere) return;
      if (performance.now() > untilMs)
        throw new Error("The standby gets no further. Nothing was split, and nothing is stopped.");
      await wait("waits until the standby has everything", onProgress);
    }
  } catch (error) {
    await startDispatching(primary);
    throw error;
  }
}

/** PostgreSQL's time. */
async function timeOfDatabase(reads: Reads): Promise<Date> {
  return oneRow(await reads.$queryRaw<{ at: Date }[]>`select clock_timestamp()::timestamptz(3) as "at"`).at;
}

async function wait(text: string, onProgress: SplitOptions["onProgress"]): Promise<void> {
  onProgress(text);
  await sleep(LOOK_EVERY_MS);
}

async function promote(standby: Queries, { byHand, onProgress }: SplitOptions): Promise<void> {
  onProgress("promotes the standby");
  if (!byHand) await standby.$queryRaw`select pg_promote(true, ${PROMOTED_WITHIN_SECONDS}::int)`;
  while ((await readServer(standby)).inRecovery) {
    if (!byHand)
      throw new Error(
        "The standby is not promoted yet. Dispatching is stopped: see its log, promote it, and call this again.",
      );
    await wait("waits until you have promoted the standby", onProgress);
  }
}

/** @throws where the other side lacks one of them: then nothing of that page was deleted */
async function forgetEndpoints(
  queries: Queries,
  { buckets, other }: { buckets: readonly string[]; other: Reads },
): Promise<void> {
  for (let ids = await pageOf(queries, buckets); ids.length > 0; ids = await pageOf(queries, buckets)) {
    const there = await other.$queryRaw<unknown[]>`
      select id from webhook_endpoint where id = any (${ids}::uuid[])`;
    if (there.length < ids.length) {
      throw new Error(
        "One side would forget endpoints that the other one does not have. Was the split begun with other buckets, or with another INBOX_BUCKETS? Dispatching is stopped: call this again with those.",
      );
    }
    await queries.$executeRaw`delete from webhook_endpoint where id = any (${ids}::uuid[])`;
  }
}

/** Ids of endpoints of these buckets. */
async function pageOf(reads: Reads, buckets: readonly string[]): Promise<string[]> {
  const rows = await reads.$queryRaw<{ id: string }[]>`
    select id from webhook_endpoint where ${BUCKET} = any (${buckets}::text[]) limit ${PAGE_SIZE}`;
  return rows.map(({ id }) => id);
}

const ANY_ID = ["uuid", "00000000-0000-0000-0000-000000000000"] as const;

/**
 * The tables whose rows publishers and dispatchers would read, although their endpoints are deleted, with the columns of their keys, and
 * for each its type and a value before all others. The retention erases the history.
 */
const OF_ENDPOINTS: Readonly<Record<string, Readonly<Record<string, readonly [type: string, first: string]>>>> = {
  due: {
    shard: ["smallint", "-1"],
    endpoint_id: ANY_ID,
    due_at: ["timestamptz", "-infinity"],
    delivery_id: ANY_ID,
  },
  catch_up: { endpoint_id: ANY_ID },
  digest: { endpoint_id: ANY_ID },
  resend: { id: ANY_ID },
};

/** Deletes in pages, by the primary key, so that no other statement waits long. Rows that are left do no harm. */
async function forgetRest(sides: Sides, onProgress: SplitOptions["onProgress"]): Promise<void> {
  for (const queries of [sides.primary, sides.standby]) {
    for (const [table, key] of Object.entries(OF_ENDPOINTS)) {
      onProgress(`forgets what is left in ${table}`);
      let after: string[] | undefined = Object.values(key).map(([, first]) => first);
      while (after !== undefined) after = await forgetPage(queries, { table, key, after });
    }
  }
}

/** Returns the last key of the page, its columns as texts; undefined after the last page. */
async function forgetPage(
  queries: Queries,
  { table, key, after }: { table: string; key: (typeof OF_ENDPOINTS)[string]; after: string[] },
): Promise<string[] | undefined> {
  const name = Prisma.raw(table);
  const columns = Prisma.raw(Object.keys(key).join(", "));
  const types = Object.values(key).map(([type]) => type);
  const before = Prisma.join(
    after.map((text, index) => Prisma.sql`${text}::text::${Prisma.raw(types[index] as string)}`),
  );
  const texts = Prisma.raw(
    Object.keys(key)
      .map((column) => `${column}::text`)
      .join(", "),
  );
  const [last] = await queries.$queryRaw<{ key: string[] }[]>`
    with page as materialized (
      select * from ${name} where (${columns}) > (${before}) order by ${columns} limit ${PAGE_SIZE}
    ), forgotten as (
      delete from ${name}
      where (${columns}) in (
        select ${columns} from page
        where not exists (select from webhook_endpoint as endpoint where endpoint.id = page.endpoint_id)
      )
    )
    select array[${texts}] as "key" from page order by (${columns}) desc limit 1`;
  return last?.key;
}
