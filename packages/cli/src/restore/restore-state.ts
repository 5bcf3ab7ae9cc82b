import type { Queries } from "@herald/common/database/queries";

/** A restore that is not ended. */
export interface Restore {
  /** The time of the backup: later changes are missing. */
  restoredTo: Date;
  begunAt: Date;
}

export interface RestoreState {
  /** Null where none is under way. */
  restore: Restore | null;
  /** Dispatchers that run. */
  dispatchers: number;
  /** Running dispatchers that do not know of the restore yet. */
  unheard: number;
  /** Attempts that had begun before; counted to {@link COUNTED_AT_MOST}. */
  underWay: number;
  /** Deliveries of enabled endpoints that wait; counted to {@link COUNTED_AT_MOST}. */
  waiting: number;
}

type Row = Omit<RestoreState, "restore"> & { [Key in keyof Restore]: Restore[Key] | null };

export const COUNTED_AT_MOST = 100_000;

/** Holds all attempts from now on. Where a restore is under way already, it gets this time. */
export async function beginRestore(queries: Queries, restoredTo: Date): Promise<void> {
  await queries.$executeRaw`
    insert into restore (restored_to, begun_at) values (${restoredTo}::timestamptz, clock_timestamp())
    on conflict (id) do update set restored_to = excluded.restored_to`;
}

/** Lets attempts begin. Returns the restore that has ended; undefined where none was under way. */
export async function endRestore(queries: Queries): Promise<Restore | undefined> {
  const [ended] = await queries.$queryRaw<Restore[]>`
    delete from restore returning restored_to as "restoredTo", begun_at as "begunAt"`;
  return ended;
}

/** PostgreSQL's time. */
export async function timeOfDatabase(queries: Queries): Promise<Date> {
  const [row] = await queries.$queryRaw<{ at: Date }[]>`select clock_timestamp()::timestamptz(3) as "at"`;
  if (!row) throw new Error("PostgreSQL answered a select with no row.");
  return row.at;
}

/**
 * Locks nothing. Reads the whole of `dispatcher`, a row for each, and of `due`, which only an operator may ask for.
 *
 * A dispatcher asks PostgreSQL each second whether attempts are held, and begins none after five seconds without an answer. So one that
 * was not seen for six has ended, or begins nothing.
 *
 * @param heardAfter dispatchers that were seen after this time know of the restore; the time of its begin where absent
 */
export async function readRestoreState(queries: Queries, heardAfter?: Date): Promise<RestoreState> {
  const [row] = await queries.$queryRaw<Row[]>`
    select
      restore.restored_to as "restoredTo",
      restore.begun_at as "begunAt",
      member.*,
      (
        select count(*) from (
          select from due
          where due_at > now() and claim_id <> delivery_id
          limit ${COUNTED_AT_MOST}
        ) as claimed
      )::int as "underWay",
      (
        select count(*) from (
          select from due
          join webhook_endpoint as endpoint on endpoint.id = due.endpoint_id and endpoint.enabled
          limit ${COUNTED_AT_MOST}
        ) as waiting
      )::int as "waiting"
    from (select 1) as one
    left join restore on true
    cross join lateral (
      select
        count(*)::int as "dispatchers",
        (count(*) filter (where seen_at <= coalesce(${heardAfter ?? null}::timestamptz, restore.begun_at)))::int as "unheard"
      from process
      where seen_at > clock_timestamp() - interval '6 seconds'
    ) as member`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  const { restoredTo, begunAt, ...counts } = row;
  return { restore: restoredTo && begunAt ? { restoredTo, begunAt } : null, ...counts };
}
