import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { DeliverRequest, Hint, WebhookDeliverySummary } from "@herald/contracts";
import { ProblemError } from "../problems/problem-error.ts";
import { deliverySummary } from "../sql/delivery-summary.ts";
import { insertManualDelivery } from "../sql/insert-manual-delivery.ts";
import { toDeliverySummary } from "./summary.ts";

export interface DeliverParts {
  prisma: PrismaClient;
  /** Somebody waits, so the two statements on the way go past Prisma. */
  queries: Queries;
  clock: Clock;
  newId: () => string;
  /** Asks a dispatcher for the first attempt; resolves when it has answered, or when nobody has in time. */
  requestAttempt: (hint: Hint) => Promise<void>;
  /** How long a new delivery waits for its hint before the retry pass takes it. */
  unhintedAfterMs: number;
}

/**
 * Sends a payload to an endpoint, as it is: without envelope and business event, the string's UTF-8 bytes signed and sent
 * one for one (SPEC 4.1.2). Returns how the first attempt went, or `attemptCount` 0 where no dispatcher was there in time;
 * the delivery is then attempted later. Whether the receiver took it is in `succeeded` (SPEC 4.1.3).
 *
 * @throws ProblemError `webhook_not_found`, `endpoint_disabled` or `event_not_subscribed`
 */
export async function deliverManually(
  { prisma, queries, clock, newId, requestAttempt, unhintedAfterMs }: DeliverParts,
  { id: endpointId, organizationId }: { id: string; organizationId: string },
  { eventType, payloadJson }: DeliverRequest,
): Promise<WebhookDeliverySummary> {
  const id = newId();
  const createdAt = clock.now();
  const unhintedAt = new Date(createdAt.getTime() + unhintedAfterMs);
  const delivery = { id, endpointId, organizationId, eventType, body: payloadJson, createdAt, unhintedAt };
  if (!(await insertManualDelivery(queries, delivery))) {
    throw await whyRefused(prisma, { id: endpointId, organizationId }, eventType);
  }
  await requestAttempt({ deliveryId: id, endpointId });
  const row = await deliverySummary(queries, id);
  // The endpoint was deleted while its receiver answered.
  if (row === null) throw new ProblemError("webhook_not_found");
  return toDeliverySummary(row);
}

async function whyRefused(
  prisma: PrismaClient,
  endpoint: { id: string; organizationId: string },
  eventType: string,
): Promise<ProblemError> {
  const found = await prisma.webhookEndpoint.findFirst({ where: endpoint, select: { enabled: true, events: true } });
  if (found === null) return new ProblemError("webhook_not_found");
  if (!found.enabled) return new ProblemError("endpoint_disabled");
  return new ProblemError("event_not_subscribed", {
    detail: `The endpoint takes ${found.events.join(", ")}, but not ${eventType}. Deliver one of those, or add it to them.`,
  });
}
