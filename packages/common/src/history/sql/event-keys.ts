import { Prisma } from "../../database/generated/client.ts";
import { idsFrom } from "../../database/ids.ts";
import type { Reads } from "../../database/queries.ts";

/** What is looked for among an organization's events. All of it has to fit; null, or an empty list, lets all pass. */
export interface EventKeysQuery {
  organizationId: string;
  eventId: string | null;
  entityId: string | null;
  /** With what the event's id, or its entity's, begins. */
  idPrefix: string | null;
  types: readonly string[];
  /** Only keys from this id on. */
  firstKey: string | null;
  /** Only keys smaller than this id. */
  before: string | null;
  limit: number;
}

/** How many events one call looks at where a type is rare: some milliseconds of PostgreSQL's time. */
const MAX_SCANNED = 2_000;

/** An event's id comes again only with another time, so seldom. An emitter that gives all its events one id must not make this slow. */
const MOST_WITH_ONE_ID = 1_000;

/**
 * The keys of an organization's events, newest first: `limit` at the most. With an id or its beginning, of a thousand of those that have it.
 * `next` is the key behind which the next part begins; null where there is none.
 *
 * Locks nothing. Walks business_event_organization_id_id_idx where an id is given, and for the beginning of one
 * business_event_organization_id_entity_id_key_idx too. That alone, backwards, for an entity: it may have very many events, and its
 * newest lie together there. Else business_event_pkey backwards. Each index is looked into once a partition, from the newest.
 */
export async function eventKeys(
  queries: Reads,
  query: EventKeysQuery,
): Promise<{ keys: string[]; next: string | null }> {
  const { eventId, entityId, idPrefix, types, limit } = query;
  const isWalk = eventId === null && idPrefix === null;
  const maxScanned = types.length === 0 ? limit : MAX_SCANNED;
  const rows = await queries.$queryRaw<{ key: string }[]>`
    select key
    from (${isWalk ? Prisma.sql`${newestEvents(query)} limit ${maxScanned}::int` : eventsWithId(query)}) as event
    where true
      ${isWalk || entityId === null ? Prisma.empty : Prisma.sql`and entity_id = ${entityId}::uuid`}
      ${isWalk || eventId === null ? Prisma.empty : Prisma.sql`and id = ${eventId}::uuid`}
      ${isWalk ? Prisma.empty : withinKeys(query)}
      ${types.length === 0 ? Prisma.empty : Prisma.sql`and type = any (${types}::text[])`}
    order by key desc
    limit ${limit}::int`;
  const keys = rows.map(({ key }) => key);
  if (keys.length === limit) return { keys, next: keys.at(-1) ?? null };
  if (!isWalk || types.length === 0) return { keys, next: null };
  // The part isn't full: either the events have ended, or `maxScanned` were looked at.
  const [last] = await queries.$queryRaw<{ key: string }[]>`
    ${newestEvents(query)} offset ${maxScanned - 1}::int limit 1`;
  return { keys, next: last?.key ?? null };
}

function newestEvents(query: EventKeysQuery): Prisma.Sql {
  const { organizationId, entityId } = query;
  return Prisma.sql`
    select key, type
    from business_event
    where organization_id = ${organizationId}
      ${entityId === null ? Prisma.empty : Prisma.sql`and entity_id = ${entityId}::uuid`}
      ${withinKeys(query)}
    order by key desc`;
}

function eventsWithId({ organizationId, eventId, idPrefix }: EventKeysQuery): Prisma.Sql {
  const some = (condition: Prisma.Sql) => Prisma.sql`(
    select key, id, entity_id, type
    from business_event
    where organization_id = ${organizationId} and ${condition}
    limit ${MOST_WITH_ONE_ID}::int
  )`;
  const { first, last } = idsFrom(idPrefix ?? "");
  const between = (column: Prisma.Sql) => Prisma.sql`${column} >= ${first}::uuid and ${column} <= ${last}::uuid`;
  if (eventId === null) {
    const newestFirst = Prisma.sql`order by entity_id desc, key desc`;
    return Prisma.sql`
      ${some(Prisma.sql`${between(Prisma.sql`id`)} order by id desc`)}
      union
      ${some(Prisma.sql`${between(Prisma.sql`entity_id`)} ${newestFirst}`)}`;
  }
  const ofId = some(Prisma.sql`id = ${eventId}::uuid`);
  if (idPrefix === null) return ofId;
  return Prisma.sql`
    select * from ${ofId} as event where ${between(Prisma.sql`id`)} or ${between(Prisma.sql`entity_id`)}`;
}

function withinKeys({ firstKey, before }: EventKeysQuery): Prisma.Sql {
  return Prisma.sql`
    ${firstKey === null ? Prisma.empty : Prisma.sql`and key >= ${firstKey}::uuid`}
    ${before === null ? Prisma.empty : Prisma.sql`and key < ${before}::uuid`}`;
}
