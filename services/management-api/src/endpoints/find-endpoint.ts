import type { PrismaClient } from "@herald/common/database/generated/client";
import { ProblemError } from "../problems/problem-error.ts";

/** Says why an edit or delete found no endpoint of the id and version: another version, or none at all. */
export async function conflictOrNotFound(
  prisma: PrismaClient,
  { id, organizationId }: { id: string; organizationId: string },
): Promise<ProblemError> {
  const found = await prisma.webhookEndpoint.findFirst({ where: { id, organizationId }, select: { id: true } });
  return new ProblemError(found ? "version_conflict" : "webhook_not_found");
}
