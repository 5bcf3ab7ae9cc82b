import type { UndeliveredEvent } from "@herald/contracts";
import { onDaysOf } from "../../database/days.ts";
import { Prisma } from "../../database/generated/client.ts";
import { idsFrom } from "../../database/ids.ts";
import type { Reads } from "../../database/queries.ts";

/** The terms of a search among an organization's events. All of them have to fit; null, or an empty list, lets all pass. */
export interface EventKeysQuery {
  organizationId: string;
  eventId: string | null;
  entityId: string | null;
  /** The first characters of the id of the event, or of its entity. */
  idPrefix: string | null;
  types: readonly string[];
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
 * The keys of an organization's events, newest first: at most `limit`. With an id or its beginning, of a thousand of those that have it.
 * `next` is the key behind which the next part begins; null if there is none.
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

export interface EventRow {
  key: string;
  id: string;
  type: string;
  entityId: string;
  occurredAt: Date;
  receivedAt: Date;
  traceparent: string | null;
  /** The beginning of the body: all that comes before `data`. */
  head: string;
  body: string | null;
}

/** The fields before `data`, with a kind of entity of 128 characters, each written as an escape of six. */
const HEAD_CHARACTERS = 1_024;

/**
 * Events of an organization by their keys, newest first. Bodies are large, so they are read only where they are asked for.
 *
 * Locks nothing. Walks business_event_pkey, in one partition an event.
 */
export async function readEvents(
  queries: Reads,
  { organizationId, keys, withBody }: { organizationId: string; keys: readonly string[]; withBody: boolean },
): Promise<EventRow[]> {
  if (keys.length === 0) return [];
  return await queries.$queryRaw<EventRow[]>`
    select event.*
    from unnest(${keys}::uuid[]) as sought (key)
    cross join lateral (
      select key, id, type, entity_id as "entityId", occurred_at as "occurredAt", received_at as "receivedAt",
             traceparent, left(body, ${HEAD_CHARACTERS}::int) as head, case when ${withBody}::boolean then body end as body
      from business_event
      where organization_id = ${organizationId} and key = sought.key and ${onDaysOf("key", keys)}
      offset 0
    ) as event
    order by event.key desc`;
}

export type UndeliveredRow = Omit<UndeliveredEvent, "cameAtUtc"> & { cameAt: Date };

/** All of it has to fit; null, or an empty list, lets all pass. */
export interface UndeliveredQuery {
  organizationId: string;
  eventId: string | null;
  /** The first characters of the event's id. */
  idPrefix: string | null;
  types: readonly string[];
  /** When it came: at this time or later, and before that one. */
  from: Date | null;
  to: Date | null;
  limit: number;
}

/**
 * An organization's events that were not taken, newest first: a row for each cause.
 *
 * Locks nothing. Walks undelivered_event_pkey where an id or its beginning is given, else
 * undelivered_event_organization_id_came_at_idx backwards.
 */
export async function undeliveredEvents(queries: Reads, query: UndeliveredQuery): Promise<UndeliveredRow[]> {
  const { organizationId, eventId, idPrefix, types, from, to, limit } = query;
  const ids = idPrefix === null ? null : idsFrom(idPrefix);
  return await queries.$queryRaw<UndeliveredRow[]>`
    select event_id as id, type, cause::text as cause, reason, came_at as "cameAt"
    from undelivered_event
    where organization_id = ${organizationId}
      ${eventId === null ? Prisma.empty : Prisma.sql`and event_id = ${eventId}::uuid`}
      ${ids === null ? Prisma.empty : Prisma.sql`and event_id >= ${ids.first}::uuid and event_id <= ${ids.last}::uuid`}
      ${types.length === 0 ? Prisma.empty : Prisma.sql`and type = any (${types}::text[])`}
      ${from === null ? Prisma.empty : Prisma.sql`and came_at >= ${from}::timestamptz`}
      ${to === null ? Prisma.empty : Prisma.sql`and came_at < ${to}::timestamptz`}
    order by came_at desc
    limit ${limit}::int`;
}
