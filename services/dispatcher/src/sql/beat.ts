import type { Queries } from "@herald/common/database/queries";
import type { BeatAnswer } from "../members/membership.ts";

/** What PostgreSQL answers: the members, and whether a restore holds all attempts. */
export type HeardBeat = BeatAnswer & { isHeld: boolean };

export interface Beat {
  id: string;
  /** The time of the members whom this dispatcher counts. */
  agreedAt: Date | null;
  /** Since when it reaches no receiver at all, and is no member; null while it is one. */
  outageSince: Date | null;
  /** Members that were not seen for so long are removed. */
  unseenMs: number;
}

interface Row {
  id: string;
  joinedAt: Date;
  agreedAt: Date | null;
  at: Date;
  isHeld: boolean;
}

/**
 * Renews a dispatcher's row, or inserts it, removes those of processes that are dead, and returns the other dispatchers; and says whether a
 * restore holds attempts. All times are PostgreSQL's: `now()` is never after the statement's snapshot, so who was visible at the time that it returns is in what it returns.
 *
 * A dispatcher in an outage joins anew with each beat, and is not returned to the others: they share out what it had, and it waits for them when it is back.
 *
 * Locks its own row, and the rows that it removes; skips those that others lock. Reads the whole table, a row for each process.
 */
export async function beat(queries: Queries, { id, agreedAt, outageSince, unseenMs }: Beat): Promise<HeardBeat> {
  const rows = await queries.$queryRaw<Row[]>`
    with own as (
      insert into process as own (id, service, joined_at, seen_at, agreed_at, outage_since)
      values (${id}::uuid, 'dispatcher', now(), now(), ${agreedAt}::timestamptz, ${outageSince}::timestamptz)
      on conflict (id) do update
      set joined_at = case when excluded.outage_since is null then coalesce(own.joined_at, excluded.joined_at) else excluded.joined_at end,
          seen_at = excluded.seen_at, agreed_at = excluded.agreed_at, outage_since = excluded.outage_since
      returning id, joined_at, agreed_at
    ), removed as (
      delete from process
      where id in (
        select id from process
        where id <> ${id}::uuid and (
          seen_at < now() - ${unseenMs}::float8 * interval '1 millisecond'
          or seen_at is null and coalesce(said_at, '-infinity') < now() - interval '1 minute'
        )
        for update skip locked
      )
      returning id
    )
    select id, joined_at as "joinedAt", agreed_at as "agreedAt", now()::timestamptz(3) as "at",
      exists (select from restore) as "isHeld"
    from own
    union all
    select id, joined_at, agreed_at, now()::timestamptz(3), null from process
    where id <> ${id}::uuid and joined_at is not null and outage_since is null and id not in (select id from removed)`;
  const [own] = rows;
  if (own === undefined) throw new Error("PostgreSQL answered a beat with no row.");
  return { at: own.at, members: rows, isHeld: own.isHeld };
}
