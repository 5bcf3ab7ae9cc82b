import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Clock } from "@herald/common/runtime/clock";
import type { SecretBox } from "@herald/common/security/secret-box";
import { newSigningSecret } from "@herald/common/security/signature";
import type { SaveWebhookRequest, SaveWebhookResponse } from "@herald/contracts";
import { ProblemError } from "../problems/problem-error.ts";
import { insertWebhook } from "../sql/insert-endpoint.ts";
import { catchUpEnd } from "./catch-up.ts";
import { toEndpointSummary } from "./summary.ts";

export interface WebhookParts {
  prisma: PrismaClient;
  secrets: SecretBox;
  clock: Clock;
  newId: () => string;
  /** Endpoints that an organization may have. */
  maxEndpoints: number;
}

/**
 * Creates an endpoint with a signing secret of its own, which is in the answer and nowhere else (SPEC 3.1).
 *
 * @throws ProblemError `endpoint_limit_reached`
 */
export async function createWebhook(
  { prisma, secrets, clock, newId, maxEndpoints }: WebhookParts,
  organizationId: string,
  request: SaveWebhookRequest,
): Promise<SaveWebhookResponse> {
  // The id is known before the row is there, since the sealed secret is bound to it.
  const id = newId();
  const now = clock.now();
  const signingSecret = newSigningSecret();
  const row = {
    id,
    organizationId,
    name: request.name,
    url: request.url,
    enabled: request.enabled,
    events: [...new Set(request.events)],
    sealedSecret: secrets.seal(signingSecret, id),
    disabledReason: request.enabled ? null : ("paused" as const),
    disabledAt: request.enabled ? null : now,
    catchUpAt: now,
    catchUpUntil: request.enabled ? catchUpEnd(now) : null,
    createdAt: now,
    updatedAt: now,
  };
  if (!(await insertWebhook(prisma, row, maxEndpoints))) {
    throw new ProblemError("endpoint_limit_reached", {
      detail:
        `The organization has ${maxEndpoints} endpoints, which is as many as it may have. ` +
        "Delete one that isn't needed any more, or ask the operator of the service for a higher limit.",
    });
  }
  const endpoint = toEndpointSummary({ ...row, consecutiveFailures: 0, revision: 1n }, []);
  return { endpoint, signingSecret };
}
