// Runs the built app beside the Herald that `pnpm start` runs in the checkout $HERALD: with a database and a webhook endpoint of its own.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import pg from "pg";

const run = JSON.parse(readFileSync(join(process.env.HERALD, ".local", "run.json"), "utf8"));
const { PORT = "3000", WEBHOOK_PORT = "8444" } = process.env;
const DATABASE = "express_prisma";
const NAME = "Billing of examples/express-prisma";

const client = new pg.Client(run.databaseUrl);
await client.connect();
const { rowCount } = await client.query("select from pg_database where datname = $1", [DATABASE]);
if (rowCount === 0) await client.query(`create database ${DATABASE}`);
await client.end();
const database = new URL(run.databaseUrl);
database.pathname = DATABASE;

/** Calls Herald's API. Throws with what it says if it refuses. */
async function call(method, path, body) {
  const response = await fetch(`${run.apiUrl}/api/organization/integration-operations${path}`, {
    method,
    headers: { authorization: `Bearer ${run.token}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return text && JSON.parse(text);
}

// The secret is shown at creation only, so the endpoint of an earlier run makes room for a new one.
for (const { id, name, version } of await call("GET", "/webhooks")) {
  if (name === NAME) await call("DELETE", `/webhooks/${id}`, { version });
}
const { signingSecret } = await call("POST", "/webhooks", {
  name: NAME,
  url: `https://localhost:${WEBHOOK_PORT}/webhooks`,
  enabled: true,
  events: ["WorkItemCompleted"],
});

// The local Herald has made this certificate for the loopback, and trusts it.
const certificate = join(homedir(), ".herald-listen.pem");
Object.assign(process.env, {
  DATABASE_URL: database.href,
  AMQP_URL: run.amqpUrl,
  ORGANIZATION_ID: run.organizationId,
  PORT,
  WEBHOOK_PORT,
  WEBHOOK_SECRET: signingSecret,
  TLS_CERT_FILE: certificate,
  TLS_KEY_FILE: certificate,
});
await import("./dist/main.js");
