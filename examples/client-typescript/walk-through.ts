import createClient from "openapi-fetch";
import type { components, paths } from "./herald.js";

type Problem = components["schemas"]["Problem"];

const { HERALD, TOKEN, RECEIVER_URL = "https://hooks.example.com/herald", ENTITY_ID } = process.env;

const herald = createClient<paths>({
  baseUrl: `${HERALD}/api/organization/integration-operations`,
  headers: { Authorization: `Bearer ${TOKEN}` },
});

/** What an answer holds. Throws where it is a problem. */
function bodyOf<Body>({ data, error }: { data?: Body; error?: Problem }): Body {
  if (error !== undefined) throw new Error(`${error.code}: ${error.detail} (request ${error.requestId})`);
  return data as Body;
}

// Create: the answer is the only one that holds the signing secret.
const { endpoint, signingSecret } = bodyOf(
  await herald.POST("/webhooks", {
    body: { name: "Billing", url: RECEIVER_URL, enabled: true, events: ["WorkItemCompleted"], version: null },
  }),
);
console.log(`created ${endpoint.name} with a secret of ${signingSecret?.length} characters`);

// Read, and list.
const path = { id: endpoint.id };
const details = bodyOf(await herald.GET("/webhooks/{id}", { params: { path } }));
console.log(`read ${details.name}, ${details.disabledReason ?? "enabled"}, ${details.unfinished.waiting} waiting`);
const endpoints = bodyOf(await herald.GET("/webhooks"));
console.log(`listed ${endpoints.map(({ name }) => name).join(", ")}`);

// Edit: all settings, and the version that was read last. An older one is refused.
const settings = { name: "Billing 2", url: RECEIVER_URL, enabled: true, events: endpoint.events };
const edited = bodyOf(
  await herald.PUT("/webhooks/{id}", { params: { path }, body: { ...settings, version: endpoint.version } }),
);
console.log(`edited ${edited.endpoint.name}`);
const stale = await herald.PUT("/webhooks/{id}", {
  params: { path },
  body: { ...settings, version: endpoint.version },
});
if (stale.error?.code !== "version_conflict") throw new Error("An edit of an old version went through.");
console.log(`refused ${stale.error.status} ${stale.error.code}: ${stale.error.detail}`);

// Deliver by hand. With a key, the request can be repeated until there is an answer.
const delivery = bodyOf(
  await herald.POST("/webhooks/{id}/deliver", {
    params: { path, header: { "Idempotency-Key": crypto.randomUUID() } },
    body: { eventType: "WorkItemCompleted", payloadJson: '{"ping": true}' },
  }),
);
console.log(`delivered ${delivery.succeeded}, status ${delivery.statusCode}, attempts ${delivery.attemptCount}`);

// The history, by filters.
const query = { outcome: ["succeeded"], eventType: ["WorkItemCompleted"], limit: 10 };
const page = bodyOf(await herald.GET("/webhooks/{id}/deliveries", { params: { path, query } }));
for (const { outcome, failureKind } of page.deliveries) console.log(`history ${outcome}, failure ${failureKind}`);

// What became of the events about an entity, at every endpoint.
if (ENTITY_ID) {
  const found = bodyOf(await herald.GET("/events", { params: { query: { entityId: ENTITY_ID } } }));
  for (const event of found.events) {
    const [at] = event.endpoints;
    console.log(`event ${event.type} at ${at?.endpointName}: ${at?.delivery?.outcome ?? at?.reason}`);
  }
}

// A new secret, from this answer on; and who changed what.
const rotated = bodyOf(
  await herald.PUT("/webhooks/{id}", {
    params: { path },
    body: { ...settings, rotateSecret: true, version: edited.endpoint.version },
  }),
);
console.log(`rotated ${rotated.signingSecret !== null && rotated.signingSecret !== signingSecret}`);
const { changes } = bodyOf(await herald.GET("/webhooks/{id}/changes", { params: { path } }));
for (const { kind, changedBy, before, after } of changes) {
  console.log(`change ${kind} by ${changedBy}: ${before?.name ?? "-"} to ${after?.name ?? "-"}`);
}

// Delete.
bodyOf(await herald.DELETE("/webhooks/{id}", { params: { path }, body: { version: rotated.endpoint.version } }));
const gone = await herald.GET("/webhooks/{id}", { params: { path } });
console.log(`deleted ${gone.response.status}`);
