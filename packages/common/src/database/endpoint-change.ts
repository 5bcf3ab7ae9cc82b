import { randomUUID } from "node:crypto";
import { Prisma } from "./generated/client.ts";
import { firstIdAt } from "./ids.ts";

/** Who changes an endpoint's settings. */
export interface Author {
  changedBy: "admin" | "operator" | "herald";
  /** The subject of an admin's token; null for other authors, and where the token has none that can be shown. */
  subject: string | null;
  name: string | null;
}

/** The author of changes that Herald's own commands make, which operators run. */
export const OPERATOR: Author = { changedBy: "operator", subject: null, name: null };

/** The one name of an author, where there is room for one; null where the token has none that can be shown. */
export function nameOf({ name, subject }: Pick<Author, "name" | "subject">): string | null {
  return name ?? subject;
}

/**
 * The id of a change: the time, the revision that it made, and chance. So a trail is in the order of its ids. Manual deliveries and
 * resends, whose ids begin with their time too, come after a change of the same millisecond.
 */
export function changeId(now: Date, revision: bigint): string {
  const digits = BigInt.asUintN(28, revision).toString(16).padStart(7, "0");
  return `${firstIdAt(now).slice(0, 14)}0${digits.slice(0, 3)}-${digits.slice(3)}-${randomUUID().slice(24)}`;
}

/** The author of a change, as a notice shows it. */
export function authorDetails({ changedBy, name, subject }: Author): string {
  return JSON.stringify({ author: { changedBy, name, subject } });
}

/** The settings of an endpoint as its changes keep them: all of them but the secret. The table is named as it is in the statement. */
export function settingsOf(table: "before" | "endpoint"): Prisma.Sql {
  const row = Prisma.raw(table);
  return Prisma.sql`jsonb_build_object(
    'name', ${row}.name, 'url', ${row}.url, 'enabled', ${row}.enabled, 'events', to_jsonb(${row}.events))`;
}
