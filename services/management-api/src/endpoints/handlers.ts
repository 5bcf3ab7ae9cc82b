import type { Queries } from "@herald/common/database/queries";
import type { CheckWebhookResponse, DeleteWebhookRequest, SaveWebhookRequest } from "@herald/contracts";
import { toDeliverySummary } from "../deliveries/summary.ts";
import type { ApiRequest, Handlers } from "../handlers.ts";
import { listWebhooks } from "../sql/list-endpoints.ts";
import { createWebhook, type WebhookParts } from "./create-endpoint.ts";
import { deleteWebhook } from "./delete-endpoint.ts";
import { editWebhook } from "./edit-endpoint.ts";
import { listOverviews, type OverviewParts, readDetails } from "./overview.ts";
import { toEndpointSummary } from "./summary.ts";

type WebhookOperation =
  | "listWebhooks"
  | "createWebhook"
  | "listOverviews"
  | "checkWebhook"
  | "readWebhook"
  | "editWebhook"
  | "deleteWebhook";

export function webhookHandlers(
  parts: WebhookParts & OverviewParts & { queries: Queries },
): Pick<Handlers, WebhookOperation> {
  return {
    async listWebhooks({ organizationId }) {
      const rows = await listWebhooks(parts.queries, organizationId);
      return rows.map((row) => toEndpointSummary(row, row.deliveries.map(toDeliverySummary)));
    },
    createWebhook: ({ organizationId, body }: ApiRequest<SaveWebhookRequest>) =>
      createWebhook(parts, organizationId, body),
    listOverviews: ({ organizationId }) => listOverviews(parts, organizationId),
    checkWebhook: async ({ badFields }): Promise<CheckWebhookResponse> => ({ errors: badFields }),
    readWebhook: (request) => readDetails(parts, endpointOf(request)),
    editWebhook: (request: ApiRequest<SaveWebhookRequest>) => editWebhook(parts, endpointOf(request), request.body),
    deleteWebhook: (request: ApiRequest<DeleteWebhookRequest>) =>
      deleteWebhook(parts, endpointOf(request), request.body.version),
  };
}

function endpointOf({ params, organizationId }: ApiRequest): { id: string; organizationId: string } {
  return { id: params.id ?? "", organizationId };
}
