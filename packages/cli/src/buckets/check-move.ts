import type { Reads } from "@herald/common/database/queries";
import type { SecretBox } from "@herald/common/security/secret-box";
import { type Databases, inBucket, isHeld, readMove } from "./bucket-rows.ts";

const MAX_NAMED = 5;

/**
 * Whether a bucket can move from one database to the other. Changes nothing.
 *
 * @param box of the key ring with which the taking cell opens secrets
 * @throws an error that says what to do first
 */
export async function checkMove({ from, to }: Databases, bucket: string, box: SecretBox): Promise<void> {
  const [giving, taking] = [await identityOf(from), await identityOf(to)];
  if (giving.database === taking.database) {
    throw new Error("FROM_DATABASE_URL and DATABASE_URL name the same database: the first is the giving cell's.");
  }
  if (giving.migrations !== taking.migrations) {
    throw new Error(
      "The two databases have not the same migrations. Bring both cells to one version (herald migrate) first.",
    );
  }
  await checkHistory({ from, to }, bucket);
  const endpoints = await from.$queryRaw<{ id: string; sealedSecret: string }[]>`
    select id, sealed_secret as "sealedSecret" from webhook_endpoint
    where ${inBucket("organization_id", bucket)}
    order by id`;
  const unreadable = endpoints.flatMap(({ id, sealedSecret }) => {
    try {
      box.open(sealedSecret, id);
      return [];
    } catch (error) {
      return [`  ${id}: ${(error as Error).message}`];
    }
  });
  if (unreadable.length > 0) {
    throw new Error(
      `${unreadable.length} signing secrets can't be opened with SECRET_KEYS, so the taking cell could send nothing to their endpoints. ` +
        "Put the giving cell's keys behind those of the taking cell's dispatchers, and give this command the same:\n" +
        unreadable.slice(0, MAX_NAMED).join("\n"),
    );
  }
  const [{ count } = { count: 0 }] = await to.$queryRaw<{ count: number }[]>`
    select count(*)::int as "count" from erasure where endpoint_id = any (${endpoints.map(({ id }) => id)}::uuid[])`;
  if (count > 0) {
    throw new Error(
      `The taking cell still erases what it had of ${count} of these endpoints. Run the move again when its publishers have done so.`,
    );
  }
}

/** @throws where the bucket was moved the other way, and that move is not over or not forgotten */
async function checkHistory(databases: Databases, bucket: string): Promise<void> {
  const state = await readMove(databases, bucket);
  if (state.taking.moved > 0) {
    throw new Error(
      `The taking database still has what it had of bucket ${bucket} before it gave it away. Run "herald buckets forget ${bucket}" with the ` +
        "settings of the cell that has the bucket now, and FROM_DATABASE_URL of this one.",
    );
  }
  if (state.shared > 0 && !isHeld(state)) {
    throw new Error(
      `Both databases have ${state.shared} endpoints of bucket ${bucket}, and the giving one serves some: a move the other way was cut off. ` +
        "Run that one again, with DATABASE_URL and FROM_DATABASE_URL the other way round.",
    );
  }
}

async function identityOf(reads: Reads): Promise<{ database: string; migrations: string }> {
  const [row] = await reads.$queryRaw<{ database: string; migrations: string }[]>`
    select
      concat_ws(' ', (select oid from pg_database where datname = current_database()), pg_postmaster_start_time()) as "database",
      (
        select string_agg(migration_name, ' ' order by migration_name) from _prisma_migrations
        where finished_at is not null and rolled_back_at is null
      ) as "migrations"`;
  if (!row) throw new Error("PostgreSQL answered a select with no row.");
  return row;
}
