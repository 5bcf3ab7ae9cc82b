import type { PrismaClient } from "@herald/common/database/generated/client";
import type { EndpointRow } from "@herald/common/database/update-endpoint";
import type { WebhookDeliverySummary, WebhookEndpointSummary } from "@herald/contracts";
import { ProblemError } from "../problems/problem-error.ts";

/** Names an endpoint for its organization; other organizations don't find it. */
export interface EndpointKey {
  id: string;
  organizationId: string;
}

/** @throws ProblemError `webhook_not_found` */
export async function findEndpoint(
  prisma: PrismaClient,
  { id, organizationId }: EndpointKey,
): Promise<{ id: string; enabled: boolean; events: string[] }> {
  const select = { id: true, enabled: true, events: true };
  const endpoint = await prisma.webhookEndpoint.findFirst({ where: { id, organizationId }, select });
  if (endpoint === null) throw new ProblemError("webhook_not_found");
  return endpoint;
}

/**
 * For an edit or a deletion that found no endpoint in the version that the client has read.
 *
 * @throws ProblemError `version_conflict` if the endpoint exists in another version, else `webhook_not_found`
 */
export async function refuseVersion(prisma: PrismaClient, key: EndpointKey): Promise<never> {
  await findEndpoint(prisma, key);
  throw new ProblemError("version_conflict");
}

const BYTES = 8;
/** The Base64 of 8 bytes: two bits of its 11th character are always 0. The OpenAPI document has this regular expression too. */
export const VERSION_PATTERN = "^[A-Za-z0-9+/]{10}[AEIMQUYcgkosw048]=$";

const pattern = new RegExp(VERSION_PATTERN);

/** The API's version of a row's revision: Base64 of 8 big-endian bytes. Opaque to clients (SPEC 9.1). */
export function versionOf(revision: bigint): string {
  const bytes = Buffer.alloc(BYTES);
  bytes.writeBigInt64BE(revision);
  return bytes.toString("base64");
}

/** The revision that a version stands for; null if {@link versionOf} can't have made the text. */
export function parseVersion(version: string): bigint | null {
  if (!pattern.test(version)) return null;
  return Buffer.from(version, "base64").readBigInt64BE();
}

/** An endpoint as clients see it (SPEC 2.1). */
export function toEndpointSummary(row: EndpointRow, deliveries: WebhookDeliverySummary[]): WebhookEndpointSummary {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    enabled: row.enabled,
    consecutiveFailures: row.consecutiveFailures,
    events: row.events,
    deliveries,
    version: versionOf(row.revision),
  };
}
