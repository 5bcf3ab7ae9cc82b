import type { Queries } from "@herald/common/database/queries";

/**
 * Writes down since when no dispatcher could open the signing secret of endpoints, or that one can again. What stands there already
 * stays: of a quarantine that goes on, its first time.
 *
 * Locks the endpoints' rows that change, and skips those that others lock. Walks webhook_endpoint_pkey.
 *
 * @param since null ends the quarantine
 */
export async function writeQuarantine(
  queries: Queries,
  endpointIds: readonly string[],
  since: Date | null,
): Promise<void> {
  await queries.$executeRaw`
    update webhook_endpoint
    set quarantined_at = ${since}::timestamptz
    where id in (
      select id from webhook_endpoint
      where id = any (${[...new Set(endpointIds)].sort()}::uuid[]) and (quarantined_at is null) = ${since !== null}::boolean
      order by id
      for no key update skip locked
    )`;
}
