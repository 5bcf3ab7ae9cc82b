import { Prisma } from "@herald/common/database/generated/client";
import { firstIdAt } from "@herald/common/database/ids";

export interface NewestQuery {
  organizationId: string;
  /** The smallest id that counts, and where the first round begins: most organizations have enough since then. */
  since: string;
  recently: string;
  /** Only deliveries older than this one; absent for all. */
  before?: string | undefined;
  limit: number;
}

/** The bounds of a query for the newest of the deliveries stored until `now`, however old they are, or from an id on. */
export function ofAllTimes(now: Date, since = firstIdAt(new Date(0))): { since: string; recently: string } {
  const [, recently = since] = [since, firstIdAt(new Date(now.getTime() - DAY_MS))].sort();
  return { since, recently };
}

const DAY_MS = 24 * 60 * 60_000;

/**
 * The `limit` newest deliveries of an organization, by the time in their ids, as the last of a list of common table
 * expressions: `newest`.
 *
 * Deliveries are indexed by endpoint, so the newest of each endpoint are merged. How many of an endpoint's are among them
 * is not known, and `limit` of each were too many: a thousand endpoints would read a thousand times the answer. So the
 * first two rounds read only some of each. Of all that a round has read, the one at place `limit` is a floor: what is
 * older is not among the newest. The next round reads more of each endpoint, and no further than that floor, so that the
 * partitions below it are left alone. With k endpoints that have enough in the last day, the rounds read at most
 * 3 * limit * cbrt(k) rows, however these are spread.
 *
 * Locks nothing. Walks webhook_endpoint_organization_id_id_idx, and delivery_endpoint_id_id_idx backwards from the newest.
 */
export function newestDeliveries({ organizationId, since, recently, before, limit }: NewestQuery): Prisma.Sql {
  const older = before === undefined ? Prisma.empty : Prisma.sql`and id < ${before}::uuid`;
  const some = (exponent: number, floor: Prisma.Sql) => Prisma.sql`
    select delivery.id
    from scope cross join lateral (
      select id
      from delivery
      where endpoint_id = scope.id and id >= ${floor} ${older}
      order by id desc
      limit (select ceil(${limit}::int / power(greatest(count(*), 1), ${exponent}::float8))::int from scope)
    ) as delivery`;
  const floorOf = (round: Prisma.Sql) =>
    Prisma.sql`coalesce((select id from ${round} order by id desc offset ${limit}::int - 1 limit 1), ${since}::uuid)`;
  return Prisma.sql`
    scope as (
      select id from webhook_endpoint where organization_id = ${organizationId}
    ), round_1 as (
      ${some(2 / 3, Prisma.sql`${recently}::uuid`)}
    ), round_2 as (
      ${some(1 / 3, Prisma.sql`(select ${floorOf(Prisma.sql`round_1`)})`)}
    ), newest as (
      select delivery.*
      from scope cross join lateral (
        select *
        from delivery
        where endpoint_id = scope.id and id >= (select ${floorOf(Prisma.sql`round_2`)}) ${older}
        order by id desc
        limit ${limit}::int
      ) as delivery
      order by delivery.id desc
      limit ${limit}::int
    )`;
}
