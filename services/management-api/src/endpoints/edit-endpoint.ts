import { newSigningSecret } from "@herald/common/security/signature";
import type { SaveWebhookRequest, SaveWebhookResponse } from "@herald/contracts";
import { toDeliverySummary } from "../deliveries/summary.ts";
import { recentDeliveries } from "../sql/recent-deliveries.ts";
import { updateWebhook } from "../sql/update-endpoint.ts";
import { catchUpEnd } from "./catch-up.ts";
import type { WebhookParts } from "./create-endpoint.ts";
import { conflictOrNotFound } from "./find-endpoint.ts";
import { toEndpointSummary } from "./summary.ts";
import { parseVersion } from "./version.ts";

/**
 * Replaces an endpoint's settings, and its signing secret where asked to. Attempts that begin later, queued retries among
 * them, use the new URL and the new secret (SPEC 2.3).
 *
 * @throws ProblemError `webhook_not_found`, or `version_conflict` where it isn't in the version that the client has read
 */
export async function editWebhook(
  { prisma, secrets, clock }: WebhookParts,
  { id, organizationId }: { id: string; organizationId: string },
  request: SaveWebhookRequest,
): Promise<SaveWebhookResponse> {
  const signingSecret = request.rotateSecret ? newSigningSecret() : null;
  const now = clock.now();
  const row = await updateWebhook(prisma, {
    id,
    organizationId,
    revision: parseVersion(request.version ?? "") ?? 0n,
    name: request.name,
    url: request.url,
    enabled: request.enabled,
    events: [...new Set(request.events)],
    sealedSecret: signingSecret === null ? null : secrets.seal(signingSecret, id),
    now,
    catchUpUntil: catchUpEnd(now),
  });
  if (row === null) throw await conflictOrNotFound(prisma, { id, organizationId });
  const deliveries = await recentDeliveries(prisma, { organizationId, endpointId: id });
  return { endpoint: toEndpointSummary(row, deliveries.map(toDeliverySummary)), signingSecret };
}
