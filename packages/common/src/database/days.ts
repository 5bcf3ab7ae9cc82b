import { Prisma } from "./generated/client.ts";
import { firstIdAt, lastIdAt, timeOf } from "./ids.ts";

// A statement's cached plan locks each partition that it may read, whatever its parameters are. So a statement on known ids says their days in its
// text: PostgreSQL leaves all other days out when it plans, and keeps a plan for each day.

const DAY_MS = 24 * 60 * 60_000;
/** The latest time that an id can begin with: 48 bits. */
const LAST_MS = 2 ** 48 - 1;

const dayOf = (id: string) => Math.floor(timeOf(id).getTime() / DAY_MS);

/** A condition that is true of all ids of these ids' days in UTC, and of those between. */
export function onDaysOf(column: string, ids: readonly string[]): Prisma.Sql {
  if (ids.length === 0) return Prisma.sql`false`;
  const days = ids.map(dayOf);
  const first = firstIdAt(new Date(Math.min(...days) * DAY_MS));
  const last = lastIdAt(new Date(Math.min((Math.max(...days) + 1) * DAY_MS - 1, LAST_MS)));
  return Prisma.raw(`${column} between '${first}'::uuid and '${last}'::uuid`);
}

/** The items by the days of their ids, each day once: each gets a statement of its own, so that none locks more than a day. */
export function byDay<Item>(items: readonly Item[], idOf: (item: Item) => string): Item[][] {
  return [...Map.groupBy(items, (item) => dayOf(idOf(item))).values()];
}
