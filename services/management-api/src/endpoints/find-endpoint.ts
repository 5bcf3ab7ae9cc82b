import type { PrismaClient } from "@herald/common/database/generated/client";
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
 * @throws ProblemError `version_conflict` where the endpoint exists in another version, else `webhook_not_found`
 */
export async function refuseVersion(prisma: PrismaClient, key: EndpointKey): Promise<never> {
  await findEndpoint(prisma, key);
  throw new ProblemError("version_conflict");
}
