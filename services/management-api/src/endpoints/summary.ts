import type { EndpointRow } from "@herald/common/database/update-endpoint";
import type { WebhookDeliverySummary, WebhookEndpointSummary } from "@herald/contracts";
import { versionOf } from "./version.ts";

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
