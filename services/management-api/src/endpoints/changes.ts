import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Reads } from "@herald/common/database/queries";
import { toUtc } from "@herald/common/history/summary";
import type { ChangedSettings, ChangeKind, EndpointChange, EndpointChangePage } from "@herald/contracts";
import { type ChangeRow, endpointChanges, type Settings } from "../sql/endpoint-changes.ts";
import { changeCursorOf, parseChangeCursor } from "./change-cursor.ts";
import { type EndpointKey, findEndpoint } from "./find-endpoint.ts";
import { versionOf } from "./version.ts";

/** The query parameters, validated. */
export interface ChangeFilter {
  limit: number;
  /** Where the part before ended. */
  cursor?: string;
}

/** @throws ProblemError `webhook_not_found` */
export async function listChanges(
  { prisma, queries }: { prisma: PrismaClient; queries: Reads },
  key: EndpointKey,
  { limit, cursor }: ChangeFilter,
): Promise<EndpointChangePage> {
  await findEndpoint(prisma, key);
  const olderThan = cursor === undefined ? null : parseChangeCursor(cursor);
  // One more tells whether there is a next part.
  const rows = await endpointChanges(queries, { endpointId: key.id, olderThan, limit: limit + 1 });
  const part = rows.slice(0, limit);
  const last = rows.length > limit ? part.at(-1) : undefined;
  return { changes: part.map(toChange), nextCursor: last ? changeCursorOf(last) : null };
}

/** What a row says, with the settings that it changed and no others. */
export function toChange(row: ChangeRow): EndpointChange {
  const { before, after } = row;
  const touched = names.filter((name) => before === null || !isSame(before[name], after[name]));
  return {
    version: versionOf(row.revision),
    changedAtUtc: toUtc(row.changedAt),
    kind: kindOf(row),
    changedBy: row.changedBy,
    name: row.name,
    subject: row.subject,
    before: before && only(before, touched),
    after: only(after, touched),
    secretReplaced: row.secretReplaced,
    resent: row.resent,
  };
}

const names = ["name", "url", "enabled", "events"] as const;

function kindOf({ before, after, changedBy, resent }: ChangeRow): ChangeKind {
  if (resent !== null) return "resent";
  if (before === null) return "created";
  if (before.enabled === after.enabled) return "edited";
  if (after.enabled) return "resumed";
  return changedBy === "herald" ? "disabled" : "paused";
}

function only(settings: Settings, touched: readonly (typeof names)[number][]): ChangedSettings {
  return Object.fromEntries(touched.map((name) => [name, settings[name]]));
}

/** Two lists of events in another order are two settings: the order is the admin's. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
