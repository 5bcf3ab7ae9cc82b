import type { PrismaClient } from "@herald/common/database/generated/client";
import type { EndpointRow } from "@herald/common/database/update-endpoint";
import type { WebhookDeliverySummary, WebhookEndpointSummary } from "@herald/contracts";
import { ProblemError } from "../problems/problem-error.ts";
import type { EndpointKey } from "../sql/endpoint-details.ts";
import { versionOf } from "../validation/opaque.ts";

/** @throws ProblemError `webhook_not_found` */
export async function findEndpoint(prisma: PrismaClient, { id, organizationId }: EndpointKey) {
  const select = { id: true, enabled: true, events: true };
  const endpoint = await prisma.webhookEndpoint.findFirst({ where: { id, organizationId }, select });
  if (endpoint === null) throw new ProblemError("webhook_not_found");
  return endpoint;
}

/** For a version that is not there. @throws ProblemError `version_conflict` if the endpoint has another version, else `webhook_not_found` */
export async function refuseVersion(prisma: PrismaClient, key: EndpointKey): Promise<never> {
  await findEndpoint(prisma, key);
  throw new ProblemError("version_conflict");
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
