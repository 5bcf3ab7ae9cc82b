import { Prisma } from "./generated/client.ts";

/** Who changes an endpoint's settings, and by which request. */
export interface Author {
  changedBy: "admin" | "operator" | "herald";
  /** The subject of an admin's token; null for other authors, and where the token has none that can be shown. */
  subject: string | null;
  name: string | null;
  /** A hash of the request, if it has an idempotency key. The trail takes each hash once. */
  request: Uint8Array<ArrayBuffer> | null;
}

/** The author of changes that Herald's own commands make, which operators run. */
export const OPERATOR: Author = { changedBy: "operator", subject: null, name: null, request: null };

/** The one name of an author, where there is room for one; null if the token has none that can be shown. */
export const nameOf = ({ name, subject }: Author): string | null => name ?? subject;

export const authorDetails = ({ changedBy, name, subject }: Author): string =>
  JSON.stringify({ author: { changedBy, name, subject } });

/** The settings of an endpoint as its changes keep them: all but the secret and the values of own headers. The table is named as it is in the statement. */
export function settingsOf(table: "before" | "endpoint"): Prisma.Sql {
  const row = Prisma.raw(table);
  return Prisma.sql`jsonb_strip_nulls(jsonb_build_object(
    'name', ${row}.name, 'url', ${row}.url, 'enabled', ${row}.enabled, 'events', to_jsonb(${row}.events), 'headerNames',
    (select jsonb_agg(header order by header) from jsonb_object_keys(${row}.headers) as header)))`;
}
