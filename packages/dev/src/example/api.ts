import type { SaveWebhookResponse, WebhookEndpointSummary } from "@herald/contracts";
import type { RunInfo } from "../start/local-files.ts";

/** Makes the webhook endpoint of the example, in place of one that an earlier run left. Returns its signing secret. */
export async function makeEndpoint(info: RunInfo, name: string, url: string): Promise<string> {
  const webhooks = `${info.apiUrl}/api/organization/integration-operations/webhooks`;
  for (const earlier of await call<WebhookEndpointSummary[]>(info.token, "GET", webhooks)) {
    if (earlier.name !== name) continue;
    await call(info.token, "DELETE", `${webhooks}/${earlier.id}`, { version: earlier.version });
  }
  const settings = { name, url, enabled: true, rotateSecret: false, events: ["WorkItemCompleted"], version: null };
  const { signingSecret } = await call<SaveWebhookResponse>(info.token, "POST", webhooks, settings);
  return signingSecret as string;
}

/** @throws with what the server says, on any status but success */
export async function call<Answer>(token: string, method: string, url: string, body?: object): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body && { "content-type": "application/json" }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as Answer;
}
