import type { SaveWebhookRequest } from "@herald/contracts";
import { toDeliverySummary } from "../deliveries/summary.ts";
import type { ApiRequest, Handlers } from "../handlers.ts";
import { listWebhooks } from "../sql/list-webhooks.ts";
import { createWebhook, type WebhookParts } from "./create-webhook.ts";
import { toEndpointSummary } from "./summary.ts";

export function webhookHandlers(parts: WebhookParts): Pick<Handlers, "listWebhooks" | "createWebhook"> {
  return {
    async listWebhooks({ organizationId }) {
      const rows = await listWebhooks(parts.prisma, organizationId);
      return rows.map((row) => toEndpointSummary(row, row.deliveries.map(toDeliverySummary)));
    },
    createWebhook: ({ organizationId, body }: ApiRequest<SaveWebhookRequest>) =>
      createWebhook(parts, organizationId, body),
  };
}
