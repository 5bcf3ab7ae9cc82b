import type { SaveWebhookRequest, SaveWebhookResponse } from "@herald/contracts";
import type { Client } from "./use-api.ts";

/** A valid body for POST; with a version, for PUT. */
export function settings(changes: Record<string, unknown> = {}): SaveWebhookRequest {
  return {
    name: "Billing",
    url: "https://hooks.example.com/herald",
    enabled: true,
    rotateSecret: false,
    events: ["WorkItemCompleted"],
    version: null,
    ...changes,
  } as SaveWebhookRequest;
}

export async function create(client: Client, changes: Record<string, unknown> = {}): Promise<SaveWebhookResponse> {
  const response = await client.post("/webhooks", settings(changes)).expect(200);
  return response.body as SaveWebhookResponse;
}
