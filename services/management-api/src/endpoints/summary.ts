import type { EventType, WebhookDeliverySummary, WebhookEndpointSummary } from "@herald/contracts";
import { versionOf } from "./version.ts";

/** The columns that an endpoint's summary is made of. */
export interface EndpointRow {
  id: string;
  name: string;
  url: string;
  enabled: boolean;
  consecutiveFailures: number;
  events: string[];
  revision: bigint;
}

/** An endpoint as clients see it (SPEC 2.1). */
export function toEndpointSummary(row: EndpointRow, deliveries: WebhookDeliverySummary[]): WebhookEndpointSummary {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    enabled: row.enabled,
    consecutiveFailures: row.consecutiveFailures,
    events: row.events as EventType[],
    deliveries,
    version: versionOf(row.revision),
  };
}
