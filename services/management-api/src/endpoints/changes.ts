import { createHash } from "node:crypto";
import type { Reads } from "@herald/common/database/queries";
import type { Author } from "@herald/common/database/trail";
import { toUtc } from "@herald/common/history/summary";
import type {
  ChangedSettings,
  ChangeKind,
  EndpointChange,
  EndpointChangePage,
  EndpointChangeQuery,
} from "@herald/contracts";
import type { Parts } from "../parts.ts";
import { type ChangeRow, endpointChanges, type Settings } from "../sql/endpoint-changes.ts";
import type { EndpointKey } from "../sql/endpoint-details.ts";
import { cursorOf, olderThanOf, versionOf } from "../validation/opaque.ts";
import { findEndpoint } from "./find-endpoint.ts";

const MAX_SUBJECT = 256;

/**
 * The author of a change, as it is stored. If PostgreSQL can't store the subject, or a person could not read it, its hash is stored: each
 * author has a name, and a person who has the token's subject can compare.
 */
export function authorOf(
  { subject, name }: { subject: string; name: string | null },
  request: Author["request"] = null,
): Author {
  const isKept = subject !== "" && subject.length <= MAX_SUBJECT && !/[\p{Cc}\p{Cs}]/u.test(subject);
  const hash = createHash("sha256").update(subject).digest("hex");
  return { changedBy: "admin", subject: isKept ? subject : `sha256:${hash}`, name, request };
}

/** One endpoint's trail. @throws ProblemError `webhook_not_found` */
export async function listChanges(
  { prisma, reads }: Parts,
  key: EndpointKey,
  query: EndpointChangeQuery,
): Promise<EndpointChangePage> {
  await findEndpoint(prisma, key);
  return await readTrail(reads, { organizationId: key.organizationId, endpointId: key.id }, query);
}

/** @param of null stands for all endpoints of the organization, deleted ones too */
export async function readTrail(
  queries: Reads,
  of: { organizationId: string; endpointId: string | null },
  query: EndpointChangeQuery,
): Promise<EndpointChangePage> {
  const { limit } = query;
  // One more row shows whether there is a next part.
  const rows = await endpointChanges(queries, of, { olderThan: olderThanOf(query), limit: limit + 1 });
  const part = rows.slice(0, limit);
  const last = rows.length > limit ? part.at(-1) : undefined;
  return { changes: part.map(toChange), nextCursor: last ? cursorOf(last.id) : null };
}

/** A row as the API shows it, with the settings that it changed and no others. */
export function toChange(row: ChangeRow): EndpointChange {
  const { before, after } = row;
  // Two lists of events in another order are two settings: the order is the admin's.
  const isSame = (name: (typeof names)[number]) => JSON.stringify(before?.[name]) === JSON.stringify(after?.[name]);
  const touched = names.filter((name) => before === null || after === null || !isSame(name));
  return {
    endpointId: row.endpointId,
    endpointName: row.endpointName,
    version: versionOf(row.revision),
    changedAtUtc: toUtc(row.changedAt),
    kind: kindOf(row),
    changedBy: row.changedBy,
    name: row.name,
    subject: row.subject,
    before: before && only(before, touched),
    after: after && only(after, touched),
    secretReplaced: row.secretReplaced,
    resent: row.resent,
    delivered: row.delivered === null ? null : { deliveryId: row.id, eventType: row.delivered },
  };
}

const names = ["name", "url", "enabled", "events", "headerNames", "headerValues"] as const;

function kindOf({ before, after, changedBy, resent, delivered }: ChangeRow): ChangeKind {
  if (resent !== null) return "resent";
  if (delivered !== null) return "delivered";
  if (after === null) return "deleted";
  if (before === null) return "created";
  if (before.enabled === after.enabled) return "edited";
  if (after.enabled) return "resumed";
  return changedBy === "herald" ? "disabled" : "paused";
}

function only(settings: Settings, touched: readonly (typeof names)[number][]): ChangedSettings {
  return Object.fromEntries(touched.map((name) => [name, settings[name]]));
}
