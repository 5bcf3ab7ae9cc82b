import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningApp, startApp } from "@herald/dev/example/run-example";
import { certificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { useDatabase } from "@herald/dev/harness/use-database";
import { freePort } from "@herald/dev/stack/ports";
import { checkReceiver } from "@herald/listen";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { BUILD_TIMEOUT_MS } from "../../../src/child.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";

// examples/django as it is, with herald relay beside it.

const folder = mkdtempSync(join(tmpdir(), "herald-django-"));
let app: RunningApp | undefined;
let pool: pg.Pool | undefined;
let product = "";
let billing = "";

// Ahead of those that remove the databases: jest runs these hooks in their order.
afterEach(() => app?.stop());
afterAll(async () => {
  await pool?.end();
  rmSync(folder, { recursive: true, force: true });
});

const environment = useTestEnvironment();
const own = useDatabase({ migrated: false });

beforeAll(async () => {
  product = `http://127.0.0.1:${await freePort()}`;
  billing = `https://127.0.0.1:${await freePort()}/webhooks`;
  pool = new pg.Pool({ connectionString: own.url });
});

/** Starts the example for the organization of a test. */
async function start(secret: string): Promise<void> {
  const { cert, key } = (await certificates()).trusted;
  const files = { TLS_CERT_FILE: join(folder, "billing.pem"), TLS_KEY_FILE: join(folder, "billing-key.pem") };
  writeFileSync(files.TLS_CERT_FILE, cert);
  writeFileSync(files.TLS_KEY_FILE, key);
  app = await startApp("django", {
    ...files,
    DATABASE_URL: own.url,
    AMQP_URL: environment.broker.url,
    BROKER_NAMESPACE: environment.broker.namespace,
    ORGANIZATION_ID: environment.api.organizationId,
    PORT: new URL(product).port,
    WEBHOOK_PORT: new URL(billing).port,
    WEBHOOK_SECRET: secret,
  });
}

async function call<Answer>(method: string, path: string, body?: object): Promise<{ status: number; json: Answer }> {
  const headers = { connection: "close", "content-type": "application/json" };
  const response = await fetch(`${product}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return { status: response.status, json: (await response.json()) as Answer };
}

test(
  "a work item that is completed in the Django app has an invoice at billing, and one that was completed twice has one",
  async () => {
    const { api, clock } = environment;
    // The example has the machine's clock, and an event goes to the endpoints that were there when it happened.
    clock.set(new Date());
    const { endpoint, signingSecret } = await api.create({ url: billing });
    await start(signingSecret as string);

    expect((await call("POST", "/work-items/00000000-0000-4000-8000-000000000001/complete")).status).toBe(404);
    expect((await call("POST", "/work-items", { name: "no title" })).status).toBe(400);
    const { json: workItem } = await call<{ id: string }>("POST", "/work-items", { title: "Write the report" });
    const path = `/work-items/${workItem.id}`;
    const answers = await Promise.all([call("POST", `${path}/complete`), call("POST", `${path}/complete`)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const invoices = await eventually(async () => {
      const { json } = await call<{ workItemId: string; eventId: string }[]>("GET", `${path}/invoices`);
      expect(json).toHaveLength(1);
      return json;
    });
    expect(invoices).toMatchObject([{ workItemId: workItem.id }]);

    // Sent by hand, it is the event that billing has; and what is no event of billing's is taken and left alone.
    clock.set(new Date());
    const { rows } = (await pool?.query("select event from herald_outbox")) ?? { rows: [] };
    expect(rows).toHaveLength(1);
    const { organizationId: _, ...payload } = JSON.parse(rows[0].event);
    expect(payload.id).toBe(invoices[0]?.eventId);
    for (const body of [
      payload,
      { ...payload, type: "RiskCreated" },
      { type: "WorkItemCompleted", id: 7 },
      [1],
      "text",
    ]) {
      const again = await api.deliver(endpoint.id, "WorkItemCompleted", JSON.stringify(body));
      expect(again).toMatchObject({ succeeded: true, statusCode: 204 });
    }
    expect((await call("GET", `${path}/invoices`)).json).toEqual(invoices);
  },
  STACK_TIMEOUT_MS + BUILD_TIMEOUT_MS,
);

/** The transaction does all of its work, and its commit fails. */
const FAIL_AT_COMMIT = `
  create function refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
  create constraint trigger never_done after update on work_items_workitem
    deferrable initially deferred for each row execute function refuse()`;

test(
  "a change that is rolled back in the Django app emits nothing, and herald-listen check passes its receiver",
  async () => {
    const secret = "a secret of the test";
    await start(secret);
    const { json: workItem } = await call<{ id: string }>("POST", "/work-items", { title: "Write the report" });
    const count = async () => (await pool?.query("select count(*)::int as count from herald_outbox"))?.rows[0].count;
    const before = await count();
    await pool?.query(FAIL_AT_COMMIT);
    const response = await fetch(`${product}/work-items/${workItem.id}/complete`, {
      method: "POST",
      headers: { connection: "close" },
    });
    expect([response.status, await count()]).toEqual([500, before]);
    await pool?.query("drop trigger never_done on work_items_workitem");
    expect((await call("POST", `/work-items/${workItem.id}/complete`)).status).toBe(200);
    expect(await count()).toBe(before + 1);

    const results = await checkReceiver({ url: new URL(`${product}/webhooks`), secret });
    expect(results.filter(({ passed }) => !passed)).toEqual([]);
  },
  STACK_TIMEOUT_MS + BUILD_TIMEOUT_MS,
);
