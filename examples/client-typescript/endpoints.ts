// Makes an organization's endpoints be those of a list, for version control: node endpoints.js endpoints.json
// A name in the list means one endpoint. What is not in the list stays as it is.
import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import type { components, paths } from "./herald.js";

type Schemas = components["schemas"];
type Wanted = Pick<Schemas["CreateWebhookRequest"], "name" | "url" | "enabled" | "events">;

const { HERALD, TOKEN } = process.env;
const herald = createClient<paths>({
  baseUrl: `${HERALD}/api/organization/integration-operations`,
  headers: { Authorization: `Bearer ${TOKEN}` },
});

/** What an answer holds. Throws where it is a problem. */
function bodyOf<Body>({ data, error }: { data?: Body; error?: Schemas["Problem"] }): Body {
  if (error !== undefined) throw new Error(`${error.code}: ${error.detail} (request ${error.requestId})`);
  return data as Body;
}

function isAsWanted(endpoint: Schemas["WebhookEndpointSummary"], { url, enabled, events }: Wanted): boolean {
  const sameEvents = [...endpoint.events].sort().join() === [...events].sort().join();
  return endpoint.url === url && endpoint.enabled === enabled && sameEvents;
}

const list = JSON.parse(readFileSync(process.argv[2] ?? "endpoints.json", "utf8")) as Wanted[];
const existing = bodyOf(await herald.GET("/webhooks"));

for (const wanted of list) {
  const endpoint = existing.find(({ name }) => name === wanted.name);
  if (endpoint === undefined) {
    const { signingSecret } = bodyOf(await herald.POST("/webhooks", { body: wanted }));
    // This is the only answer that holds the secret: hand it to the receiver.
    console.log(`created ${wanted.name}, secret ${signingSecret}`);
  } else if (isAsWanted(endpoint, wanted)) {
    console.log(`kept ${wanted.name}`);
  } else {
    // The version refuses this edit if an admin has changed the endpoint since it was listed.
    const body = { ...wanted, version: endpoint.version };
    bodyOf(await herald.PUT("/webhooks/{id}", { params: { path: { id: endpoint.id } }, body }));
    console.log(`edited ${wanted.name}`);
  }
}
