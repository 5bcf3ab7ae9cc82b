import type { Prisma, PrismaClient } from "@herald/common/database/generated/client";
import { changeId } from "@herald/common/database/ids";
import { type Author, nameOf } from "@herald/common/database/trail";
import { catchUpAgainAt, updateEndpoint } from "@herald/common/database/update-endpoint";
import { toDeliverySummary } from "@herald/common/history/summary";
import type { SealedHeaders } from "@herald/common/security/secret-box";
import { newSigningSecret } from "@herald/common/security/signature";
import type { SaveWebhookRequest, SaveWebhookResponse } from "@herald/contracts";
import type { Parts } from "../parts.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { deleteEndpointRow } from "../sql/delete-endpoint.ts";
import { recentDeliveries } from "../sql/delivery-details.ts";
import type { EndpointKey } from "../sql/endpoint-details.ts";
import { parseVersion } from "../validation/opaque.ts";
import { refuseVersion, toEndpointSummary } from "./find-endpoint.ts";
import { sealHeaders } from "./own-headers.ts";

/** No other answer than this one holds the signing secret (SPEC 3.1). @throws ProblemError `endpoint_limit_reached` */
export async function createEndpoint(
  { config, prisma, secrets, clock, newId }: Parts,
  organizationId: string,
  request: SaveWebhookRequest,
  author: Author,
): Promise<SaveWebhookResponse> {
  // The sealed secret is bound to the id, so the id is made here and not by PostgreSQL.
  const id = newId();
  const now = clock.now();
  const signingSecret = newSigningSecret();
  const sealed = sealHeaders(id, request, { url: request.url, headers: {} }, secrets) ?? {};
  const headerNames = Object.keys(sealed).sort();
  const headers = headerNames.length === 0 ? {} : { headers: sealed as SealedHeaders };
  const row = {
    id,
    organizationId,
    name: request.name,
    url: request.url,
    enabled: request.enabled,
    events: [...new Set(request.events)],
    sealedSecret: secrets.seal(signingSecret, id),
    ...headers,
    disabledReason: request.enabled ? null : ("paused" as const),
    disabledAt: request.enabled ? null : now,
    disabledBy: request.enabled ? null : nameOf(author),
    createdAt: now,
    updatedAt: now,
  };
  const catchUp = { endpointId: id, dueAt: now, againAt: catchUpAgainAt(now, config) };
  const { name, url, enabled, events } = row;
  const change = {
    id: changeId(now, 1n),
    organizationId,
    endpointId: id,
    endpointName: name,
    revision: 1n,
    changedAt: now,
    ...author,
    after: { name, url, enabled, events, ...(headerNames.length > 0 && { headerNames, headerValues: headerNames }) },
  };
  const { MAX_ENDPOINTS: maxEndpoints } = config;
  if (!(await insertEndpoint(prisma, maxEndpoints, row, catchUp, change))) {
    throw new ProblemError("endpoint_limit_reached", {
      detail:
        `The organization has ${maxEndpoints} endpoints, which is as many as it may have. ` +
        "Delete one that isn't needed any more, or ask the operator of the service for a higher limit.",
    });
  }
  return { endpoint: toEndpointSummary({ ...row, consecutiveFailures: 0, revision: 1n }, []), signingSecret };
}

/**
 * The answer to a create or an edit that is repeated: the endpoint as it is now. A new secret can't be read here: if the first answer
 * was lost, an admin has to replace it.
 * @throws ProblemError `webhook_not_found` if it was deleted since
 */
export async function readSaved(
  { prisma, queries, clock }: Parts,
  { id, organizationId }: EndpointKey,
): Promise<SaveWebhookResponse> {
  const row = await prisma.webhookEndpoint.findFirst({ where: { id, organizationId }, select: SUMMARY_COLUMNS });
  if (row === null) throw new ProblemError("webhook_not_found");
  const deliveries = await recentDeliveries(queries, { organizationId, endpointId: id, now: clock.now() });
  return { endpoint: toEndpointSummary(row, deliveries.map(toDeliverySummary)), signingSecret: null };
}

/** The columns of an endpoint without the secret and the own headers, which the management API does not read here. */
const SUMMARY_COLUMNS = {
  id: true,
  name: true,
  url: true,
  enabled: true,
  consecutiveFailures: true,
  events: true,
  revision: true,
} as const satisfies Prisma.WebhookEndpointSelect;

/**
 * Inserts an endpoint with its first catch-up and the first entry of its trail, unless its organization has `maxEndpoints` already. Returns whether it did.
 *
 * Locks the organization against other creates until the end of the transaction, so that two creates at once can't both
 * take the last place. The lock is an advisory lock, since no row stands for an organization. The count is a statement of
 * its own: a statement sees the rows of the time when it began, which would be before it got the lock.
 */
async function insertEndpoint(
  prisma: PrismaClient,
  maxEndpoints: number,
  row: Prisma.WebhookEndpointUncheckedCreateInput,
  catchUp: Prisma.CatchUpCreateInput,
  change: Prisma.EndpointChangeUncheckedCreateInput,
): Promise<boolean> {
  return await prisma.$transaction(
    async (transaction) => {
      await transaction.$executeRaw`select pg_advisory_xact_lock(hashtextextended(${row.organizationId}, 0))`;
      const count = await transaction.webhookEndpoint.count({ where: { organizationId: row.organizationId } });
      if (count >= maxEndpoints) return false;
      await transaction.webhookEndpoint.create({ data: row, select: { id: true } });
      await transaction.catchUp.create({ data: catchUp, select: { endpointId: true } });
      await transaction.endpointChange.create({ data: change, select: { id: true } });
      return true;
    },
    { timeout: TRANSACTION_TIMEOUT_MS },
  );
}

/**
 * PostgreSQL's statement timeout bounds the wait for the lock. Prisma's default for the whole transaction, 5 s, is shorter
 * than creates of one organization may have to wait for each other, and would end one that only waits for its turn.
 */
const TRANSACTION_TIMEOUT_MS = 120_000;

/**
 * Replaces an endpoint's settings, and its signing secret if the request asks for that. Attempts that begin later use the
 * new URL, the new secret and the new headers, queued retries too (SPEC 2.3).
 * @throws ProblemError `webhook_not_found`, `version_conflict` if the client has read another version, or `invalid_request`
 */
export async function editEndpoint(
  { config, prisma, queries, secrets, tellOwner, clock }: Parts,
  key: EndpointKey,
  request: SaveWebhookRequest,
  author: Author,
): Promise<SaveWebhookResponse> {
  const { id, organizationId } = key;
  const revision = parseVersion(request.version ?? "") ?? 0n;
  const select = { url: true, headers: true } as const;
  const stored = await prisma.webhookEndpoint.findFirst({ where: { id, organizationId, revision }, select });
  if (stored === null) return await refuseVersion(prisma, key);
  const headers = sealHeaders(id, request, { ...stored, headers: (stored.headers ?? {}) as SealedHeaders }, secrets);
  const signingSecret = request.rotateSecret ? newSigningSecret() : null;
  const now = clock.now();
  const { name, url, enabled } = request;
  const row = await updateEndpoint(queries, {
    ...key,
    revision,
    name,
    url,
    enabled,
    events: [...new Set(request.events)],
    sealedSecret: signingSecret === null ? null : secrets.seal(signingSecret, id),
    headers,
    author,
    now,
    catchUpAgainAt: catchUpAgainAt(now, config),
  });
  if (row === null) return await refuseVersion(prisma, key);
  await tellOwner({ kind: "changed", endpointId: id, organizationId });
  const deliveries = await recentDeliveries(queries, { organizationId, endpointId: id, now });
  return { endpoint: toEndpointSummary(row, deliveries.map(toDeliverySummary)), signingSecret };
}

/**
 * Deletes an endpoint and its subscriptions at once, with its whole history (SPEC 3.1, 4.1.5): nothing of it can be read from
 * now on, and the publisher erases the rows. Receivers keep what they got, and an attempt under way may still arrive.
 * @throws ProblemError `webhook_not_found`, or `version_conflict` if the client has read another version
 */
export async function deleteEndpoint(
  { prisma, queries, clock, tellOwner }: Parts,
  key: EndpointKey,
  version: string,
  author: Author,
): Promise<void> {
  const now = clock.now();
  const revision = parseVersion(version) ?? 0n;
  if (!(await deleteEndpointRow(queries, key, { revision, author, now }))) await refuseVersion(prisma, key);
  await tellOwner({ kind: "changed", endpointId: key.id, organizationId: key.organizationId });
}
