import { Prisma } from "./generated/client.ts";
import { firstIdAt, lastIdAt, timeOf } from "./ids.ts";

// A statement's cached plan locks each partition that it may read, whatever its parameters are. So a statement on known ids says their days in its
// text: PostgreSQL leaves all other days out when it plans, and keeps a plan for each day.

const DAY_MS = 24 * 60 * 60_000;
/** The latest time that an id can begin with: 48 bits. */
const LAST_MS = 2 ** 48 - 1;

const dayOf = (id: string) => Math.floor(timeOf(id).getTime() / DAY_MS);

/** A condition that is true of all ids of these days in UTC. */
function onDays(column: string, first: number, last: number): Prisma.Sql {
  const from = firstIdAt(new Date(first * DAY_MS));
  const to = lastIdAt(new Date(Math.min((last + 1) * DAY_MS - 1, LAST_MS)));
  return Prisma.raw(`${column} between '${from}'::uuid and '${to}'::uuid`);
}

/** A condition that is true of all ids of these ids' days in UTC, and of those between. */
export function onDaysOf(column: string, ids: readonly string[]): Prisma.Sql {
  if (ids.length === 0) return Prisma.sql`false`;
  const days = ids.map(dayOf);
  return onDays(column, Math.min(...days), Math.max(...days));
}

export interface OfDay<Item> {
  items: Item[];
  /** A condition that is true of all ids of the day. */
  isOn: (column: string) => Prisma.Sql;
}

/** The items by the days of their ids, each day once: each gets a statement of its own, so that none locks more than a day. */
export function byDay<Item>(items: readonly Item[], idOf: (item: Item) => string): OfDay<Item>[] {
  const days = Map.groupBy(items, (item) => dayOf(idOf(item)));
  return [...days].map(([day, items]) => ({ items, isOn: (column) => onDays(column, day, day) }));
}
