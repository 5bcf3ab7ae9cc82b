import type { Author } from "@herald/common/database/endpoint-change";
import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Queries, Reads } from "@herald/common/database/queries";
import { toUtc } from "@herald/common/history/summary";
import type { Clock } from "@herald/common/runtime/clock";
import type { Resend, ResendPage } from "@herald/contracts";
import { cursorOf, parseCursor } from "../deliveries/sought.ts";
import { type EndpointKey, findEndpoint } from "../endpoints/find-endpoint.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { type ResendRow, readResends, stopResend } from "../sql/resends.ts";

interface Parts {
  prisma: PrismaClient;
  queries: Reads;
}

/** The query parameters, validated. */
export interface ResendsFilter {
  limit: number;
  cursor?: string;
}

/** @throws ProblemError `webhook_not_found` */
export async function listResends(
  { prisma, queries }: Parts,
  key: EndpointKey,
  { limit, cursor }: ResendsFilter,
): Promise<ResendPage> {
  const { id: endpointId, organizationId } = key;
  const olderThan = cursor === undefined ? null : parseCursor(cursor);
  const rows = await readResends(queries, { organizationId, endpointId, id: null, olderThan, limit });
  if (rows.length === 0) await findEndpoint(prisma, key);
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return { resends: rows.map(toResend), nextCursor: last ? cursorOf(last.id) : null };
}

/** @throws ProblemError `webhook_not_found` or `resend_not_found` */
export async function readResend({ prisma, queries }: Parts, key: EndpointKey, id: string): Promise<Resend> {
  const resend = await findResend(queries, key, id);
  if (resend !== null) return resend;
  await findEndpoint(prisma, key);
  throw new ProblemError("resend_not_found");
}

/** Null where the endpoint has no such resend. */
export async function findResend(
  queries: Reads,
  { id: endpointId, organizationId }: EndpointKey,
  id: string,
): Promise<Resend | null> {
  const [row] = await readResends(queries, { organizationId, endpointId, id, olderThan: null, limit: 1 });
  return row ? toResend(row) : null;
}

/**
 * Stops a resend. What it has sent so far goes on: these are deliveries like others.
 *
 * @throws ProblemError `webhook_not_found` or `resend_not_found`
 */
export async function endResend(
  { prisma, queries, clock }: { prisma: PrismaClient; queries: Queries; clock: Clock },
  key: EndpointKey,
  id: string,
  { subject, name }: Author,
): Promise<Resend> {
  const { id: endpointId, organizationId } = key;
  await stopResend(queries, { id, endpointId, organizationId, stoppedBy: name ?? subject, now: clock.now() });
  return await readResend({ prisma, queries }, key, id);
}

function toResend(row: ResendRow): Resend {
  const { id, state, stopReason, stoppedBy, total, sent, succeeded, failed } = row;
  return {
    id,
    state,
    stopReason,
    startedAtUtc: toUtc(row.startedAt),
    startedBy: row.name ?? row.subject,
    endedAtUtc: row.endedAt && toUtc(row.endedAt),
    stoppedBy,
    filter: {
      eventType: row.eventTypes,
      statusCode: row.statusCodes,
      from: row.fromAt && toUtc(row.fromAt),
      to: row.toAt && toUtc(row.toAt),
    },
    total,
    bytes: Number(row.bytes),
    sent,
    succeeded,
    failed,
    waiting: sent - succeeded - failed,
  };
}
