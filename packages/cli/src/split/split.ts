import { setTimeout as sleep } from "node:timers/promises";
import { Prisma } from "@herald/common/database/generated/client";
import type { Queries, Reads } from "@herald/common/database/queries";
import { beginRestore, endRestore, timeOfDatabase } from "../restore/restore-state.ts";
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
/** The time limit for the standby to replay the rest: it was close behind, and the primary makes no attempts. */
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
 * Attempts are held by a row in the primary, which the standby has with all the rest. So none begins in either database, even if a
 * dispatcher is started, until both have deleted the other's endpoints. Each deletes only what the other one has.
 *
 * @returns how long attempts were held, in milliseconds; undefined where an earlier call had split it
 */
export async function split(sides: Sides, options: SplitOptions): Promise<number | undefined> {
  const { primary, standby } = sides;
  const { kept, given, assertUnserved, onProgress } = options;
  const states = [await readServer(primary), await readServer(standby)] as const;
  assertRelated(...states);
  if (!isHeldAlike(states) && !states[1].inRecovery) {
    await assertOver(sides, options);
    await forgetRest(sides, onProgress);
    return undefined;
  }
  await assertUnserved();
  await assertUnused(primary, "the primary");
  await assertUnused(standby, "the standby");
  if (states[1].inRecovery) {
    if (states[0].heldSince !== null) {
      throw new Error(
        `Attempts of this cell are held since ${states[0].heldSince.toISOString()}, and nothing was split yet. If a split was cut off: ` +
          '"herald restore end", and then this again. If a restore is under way, end it first.',
      );
    }
    await assertKnown(primary, options);
    await assertFollows(sides, states[0], !options.byHand);
    await hold(sides, onProgress);
    await promote(standby, options);
    if (!isHeldAlike([await readServer(primary), await readServer(standby)])) {
      throw new Error("The standby was promoted without the hold of its primary. Do not use it: make a new standby.");
    }
  }
  onProgress("each side forgets the endpoints of the other");
  await forgetEndpoints(primary, { buckets: given, other: standby });
  await forgetEndpoints(standby, { buckets: kept, other: primary });
  // The primary has them too, and tells them.
  await standby.$executeRaw`delete from notice`;
  await standby.$executeRaw`delete from exhaustion`;
  await endRestore(standby);
  const { begunAt } = (await endRestore(primary)) ?? {};
  const endedAt = await timeOfDatabase(primary);
  await forgetRest(sides, onProgress);
  return endedAt.getTime() - (begunAt ?? endedAt).getTime();
}

type State = Awaited<ReturnType<typeof readServer>>;

/** Whether both have the row of one hold: the standby was promoted while attempts of its primary were held. */
function isHeldAlike([primary, standby]: readonly [State, State]): boolean {
  return (
    !standby.inRecovery && primary.heldSince !== null && standby.heldSince?.getTime() === primary.heldSince.getTime()
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
    const { heldSince } = await readServer(reads);
    if (heldSince === null) continue;
    throw new Error(
      `The cell is split, but attempts of the database of ${name} are held since ${heldSince.toISOString()}. Unless a restore of it is under way: ` +
        '"herald restore end" there.',
    );
  }
}

/** Holds attempts, and returns when nothing is under way and the standby has everything. Where it fails, nothing is held. */
async function hold({ primary, standby }: Sides, onProgress: SplitOptions["onProgress"]): Promise<void> {
  await beginRestore(primary, await timeOfDatabase(primary));
  try {
    for (let count = 1; count > 0; ) {
      count = await countUnderWay(primary);
      if (count > 0)
        await wait(`waits until ${count} attempts have ended, or their dispatchers count as dead`, onProgress);
    }
    const [{ lsn } = { lsn: "" }] = await primary.$queryRaw<
      { lsn: string }[]
    >`select pg_current_wal_lsn()::text as "lsn"`;
    const { heldSince } = await readServer(primary);
    const untilMs = performance.now() + REPLAYS_WITHIN_MS;
    for (;;) {
      const [row] = await standby.$queryRaw<{ isThere: boolean }[]>`
        select pg_last_wal_replay_lsn() >= ${lsn}::pg_lsn
          and exists (select from restore where begun_at = ${heldSince}::timestamptz) as "isThere"`;
      if (row?.isThere) return;
      if (performance.now() > untilMs)
        throw new Error("The standby gets no further. Nothing was split, and nothing is held.");
      await wait("waits until the standby has everything", onProgress);
    }
  } catch (error) {
    await endRestore(primary);
    throw error;
  }
}

async function wait(text: string, onProgress: SplitOptions["onProgress"]): Promise<void> {
  onProgress(text);
  await sleep(LOOK_EVERY_MS);
}

/** Dispatchers that have not left yet, and deliveries that one was at when it died: until their leases end. Reads the whole of `due`. */
async function countUnderWay(reads: Reads): Promise<number> {
  const [row] = await reads.$queryRaw<{ count: number }[]>`
    select (
      (select count(*) from process where seen_at > clock_timestamp() - interval '6 seconds')
      + (select count(*) from due where claim_id is not null and due_at > clock_timestamp())
    )::int as "count"`;
  return row?.count ?? 0;
}

async function promote(standby: Queries, { byHand, onProgress }: SplitOptions): Promise<void> {
  onProgress("promotes the standby");
  if (!byHand) await standby.$queryRaw`select pg_promote(true, ${PROMOTED_WITHIN_SECONDS}::int)`;
  while ((await readServer(standby)).inRecovery) {
    if (!byHand)
      throw new Error(
        "The standby is not promoted yet. Attempts are held: see its log, promote it, and call this again.",
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
        "One side would forget endpoints that the other one does not have. Was the split begun with other buckets, or with another INBOX_BUCKETS? Attempts are held: call this again with those.",
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

/** The tables whose rows publishers and dispatchers would read, although their endpoints are deleted. The retention erases the history. */
const OF_ENDPOINTS = [
  ["due", "delivery_id"],
  ["catch_up", "endpoint_id"],
  ["digest", "endpoint_id"],
  ["resend", "id"],
] as const;

/** Deletes in pages, by the primary key, so that no other statement waits long. Rows that are left do no harm. */
async function forgetRest(sides: Sides, onProgress: SplitOptions["onProgress"]): Promise<void> {
  for (const queries of [sides.primary, sides.standby]) {
    for (const [table, key] of OF_ENDPOINTS) {
      onProgress(`forgets what is left in ${table}`);
      let after: string | undefined = "00000000-0000-0000-0000-000000000000";
      while (after !== undefined) after = await forgetPage(queries, { table, key, after });
    }
  }
}

/** Returns the last key of the page; undefined after the last page. */
async function forgetPage(
  queries: Queries,
  { table, key, after }: { table: string; key: string; after: string },
): Promise<string | undefined> {
  const [name, id] = [Prisma.raw(table), Prisma.raw(key)];
  const [last] = await queries.$queryRaw<{ id: string }[]>`
    with page as materialized (
      select ${id} as id, endpoint_id from ${name} where ${id} > ${after}::uuid order by ${id} limit ${PAGE_SIZE}
    ), forgotten as (
      delete from ${name}
      where ${id} = any (array (
        select page.id from page
        where not exists (select from webhook_endpoint as endpoint where endpoint.id = page.endpoint_id)
      ))
    )
    select id from page order by id desc limit 1`;
  return last?.id;
}
