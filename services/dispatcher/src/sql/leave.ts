import type { Queries } from "@herald/common/database/queries";

/**
 * Deletes the row of a dispatcher that has ended its last attempt: the others share out what it had.
 *
 * Locks that row. Walks process_pkey.
 */
export async function leave(queries: Queries, id: string): Promise<void> {
  await queries.$executeRaw`delete from process where id = ${id}::uuid`;
}
