import { Prisma } from "./generated/client.ts";

/** Who changes an endpoint's settings. */
export interface Author {
  changedBy: "admin" | "operator" | "herald";
  /** Of an admin's token; null for the others, and where the token has none that can be shown. */
  subject: string | null;
  name: string | null;
}

/** Herald's own commands, which operators run. */
export const OPERATOR: Author = { changedBy: "operator", subject: null, name: null };

/** What a notice says of who did it. */
export function authorDetails({ changedBy, name, subject }: Author): string {
  return JSON.stringify({ author: { changedBy, name, subject } });
}

/** The settings of an endpoint as its changes keep them: all of them but the secret. The table is named as it is in the statement. */
export function settingsOf(table: "before" | "endpoint"): Prisma.Sql {
  const row = Prisma.raw(table);
  return Prisma.sql`jsonb_build_object(
    'name', ${row}.name, 'url', ${row}.url, 'enabled', ${row}.enabled, 'events', to_jsonb(${row}.events))`;
}
