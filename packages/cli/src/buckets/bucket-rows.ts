import { Prisma } from "@herald/common/database/generated/client";
import type { Reads } from "@herald/common/database/queries";

export interface Databases<Kind extends Reads = Reads> {
  /** Of the cell that gives the bucket. */
  from: Kind;
  /** Of the cell that takes it. */
  to: Kind;
}

/**
 * An endpoint's state in a move, in `paused_until`: no receiver is left alone until such a year. It is disabled besides, so that nothing
 * claims its deliveries, and has no `disabled_reason` if it was enabled before.
 */
export const MOVING = new Date("9998-01-01T00:00:00Z");
/** The other database has taken it, and is the truth. */
export const MOVED = new Date("9999-01-01T00:00:00Z");

/** A condition: the organization in this column is in the bucket. As `bucketOf` computes it. */
export function inBucket(column: "organization_id" | "endpoint.organization_id", bucket: string): Prisma.Sql {
  return Prisma.sql`${digitOf(column)} = ${bucket}`;
}

/** The bucket of the organization in a column. */
export function digitOf(column: "organization_id" | "endpoint.organization_id"): Prisma.Sql {
  return Prisma.sql`left(encode(sha256(convert_to(${Prisma.raw(column)}, 'UTF8')), 'hex'), 1)`;
}

export interface EndpointCounts {
  bucket: string;
  endpoints: number;
  /** Held by a move that is not over. */
  moving: number;
  /** Held since another database has them. */
  moved: number;
}

/** For each bucket that has endpoints, how many. Locks nothing. Reads all endpoints. */
export async function countEndpoints(reads: Reads): Promise<EndpointCounts[]> {
  return await reads.$queryRaw<EndpointCounts[]>`
    select ${digitOf("organization_id")} as "bucket",
      count(*)::int as "endpoints",
      (count(*) filter (where paused_until = ${MOVING}::timestamptz))::int as "moving",
      (count(*) filter (where paused_until = ${MOVED}::timestamptz))::int as "moved"
    from webhook_endpoint
    group by 1
    order by 1`;
}

/** The same of one bucket. */
async function countEndpointsOf(reads: Reads, bucket: string): Promise<EndpointCounts> {
  const counts = await countEndpoints(reads);
  return counts.find((each) => each.bucket === bucket) ?? { bucket, endpoints: 0, moving: 0, moved: 0 };
}

/**
 * The organizations of a bucket that a database knows, in their order. Locks nothing. Reads all endpoints and idempotency keys, and
 * of business_event_pkey one entry an organization and day.
 */
export async function organizationsOf(reads: Reads, bucket: string): Promise<string[]> {
  const rows = await reads.$queryRaw<{ id: string }[]>`
    with recursive emitting as (
      (select organization_id from business_event order by organization_id limit 1)
      union all
      select (
        select organization_id from business_event
        where organization_id > emitting.organization_id
        order by organization_id
        limit 1
      )
      from emitting
      where emitting.organization_id is not null
    )
    select organization_id as "id"
    from (
      select organization_id from emitting where organization_id is not null
      union
      select organization_id from webhook_endpoint
      union
      select organization_id from idempotency_key
    ) as known
    where ${inBucket("organization_id", bucket)}
    order by organization_id`;
  return rows.map(({ id }) => id);
}

/** The endpoints of a bucket that one database gives and another one may have. */
export interface MoveState {
  /** In the giving database. */
  giving: EndpointCounts;
  /** In the taking database, those that the giving one does not know included. */
  taking: EndpointCounts;
  /** Those that both have. */
  shared: number;
  /** Of these, those that are held in the taking database. */
  sharedMoving: number;
}

/** Locks nothing. Reads all endpoints of both. */
export async function readMove({ from, to }: Databases, bucket: string): Promise<MoveState> {
  const rows = await from.$queryRaw<{ id: string }[]>`
    select id from webhook_endpoint where ${inBucket("organization_id", bucket)}`;
  const [shared] = await to.$queryRaw<{ shared: number; sharedMoving: number }[]>`
    select count(*)::int as "shared",
      (count(*) filter (where paused_until = ${MOVING}::timestamptz))::int as "sharedMoving"
    from webhook_endpoint
    where id = any (${rows.map(({ id }) => id)}::uuid[])`;
  if (!shared) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  return { giving: await countEndpointsOf(from, bucket), taking: await countEndpointsOf(to, bucket), ...shared };
}

/** Whether a move holds all endpoints of the giving database. */
export function isHeld({ giving }: MoveState): boolean {
  return giving.moving + giving.moved === giving.endpoints;
}

/**
 * Whether the taking database is the truth already: what a move copied comes into service in one statement, and is known by the
 * endpoints that the giving database holds and the taking one serves.
 */
export function isReleased(state: MoveState): boolean {
  return state.giving.moved > 0 || (isHeld(state) && state.shared > state.sharedMoving);
}
