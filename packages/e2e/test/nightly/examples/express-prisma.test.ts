import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { certificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { useDatabase } from "@herald/dev/harness/use-database";
import { projectFolder } from "@herald/dev/stack/folders";
import { freePort } from "@herald/dev/stack/ports";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { BUILD_TIMEOUT_MS, output, withoutPnpm } from "../../../src/child.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";
import { packPackages } from "../../support/pack.ts";

// The example with the published packages installed.

let app: ChildProcess | undefined;
let pool: pg.Pool | undefined;
const folder = mkdtempSync(join(tmpdir(), "herald-express-prisma-"));

// Ahead of the hooks that look for connections that were left open.
afterAll(async () => {
  if (app && app.exitCode === null) {
    app.kill("SIGTERM");
    await once(app, "close");
  }
  await pool?.end();
  rmSync(folder, { recursive: true, force: true });
});

const environment = useTestEnvironment();
const own = useDatabase({ migrated: false });
let product = "";
let billing = "";

beforeAll(async () => {
  const source = join(projectFolder(), "examples", "express-prisma");
  const copied = (file: string) => !/node_modules|dist|generated/.test(file.slice(source.length));
  cpSync(source, folder, { recursive: true, filter: copied });
  const tarballs = await packPackages(join(folder, "packed"));
  // The scripts of Prisma's packages download engines that the example does not need.
  const install = ["install", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts"];
  await output("npm", [...install, ...tarballs], folder, withoutPnpm());
  await output("npm", ["run", "build"], folder, withoutPnpm());
  const [port, webhookPort] = [await freePort(), await freePort()];
  product = `http://127.0.0.1:${port}`;
  billing = `https://127.0.0.1:${webhookPort}/webhooks`;
  pool = new pg.Pool({ connectionString: own.url });
}, 4 * BUILD_TIMEOUT_MS);

/** Starts the example for the organization of a test. */
async function startApp(secret: string): Promise<void> {
  const { cert, key } = (await certificates()).trusted;
  const files = { TLS_CERT_FILE: join(folder, "billing.pem"), TLS_KEY_FILE: join(folder, "billing-key.pem") };
  writeFileSync(files.TLS_CERT_FILE, cert);
  writeFileSync(files.TLS_KEY_FILE, key);
  app = spawn(process.execPath, ["dist/main.js"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...withoutPnpm(),
      ...files,
      DATABASE_URL: own.url,
      AMQP_URL: environment.broker.url,
      BROKER_NAMESPACE: environment.broker.namespace,
      ORGANIZATION_ID: environment.api.organizationId,
      PORT: new URL(product).port,
      WEBHOOK_PORT: new URL(billing).port,
      WEBHOOK_SECRET: secret,
    },
  });
  const { stdout } = app;
  if (stdout === null) throw new Error("The example's output has to be a pipe.");
  const lines = createInterface({ input: stdout });
  const [line] = (await Promise.race([once(lines, "line"), once(lines, "close")])) as [string?];
  expect(line).toBe("Ready.");
}

async function call<Answer>(method: string, path: string, body?: object): Promise<{ status: number; json: Answer }> {
  const headers = { connection: "close", "content-type": "application/json" };
  const response = await fetch(`${product}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return { status: response.status, json: (await response.json()) as Answer };
}

test(
  "a work item that is completed in the product has an invoice at billing, and one that was completed twice has one",
  async () => {
    const { api, clock } = environment;
    // The example has the machine's clock, and an event goes to the endpoints that were there when it happened.
    clock.set(new Date());
    const { endpoint, signingSecret } = await api.create({ url: billing });
    await startApp(signingSecret as string);

    const unknown = await Promise.all([
      call("POST", "/work-items/4711/complete"),
      call("GET", "/work-items/4711/invoices"),
    ]);
    expect(unknown.map(({ status }) => status)).toEqual([404, 404]);
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

    // Sent once more by hand, it is the event that billing has.
    clock.set(new Date());
    const { rows } = (await pool?.query("select event from herald_outbox")) ?? { rows: [] };
    expect(rows).toHaveLength(1);
    const { organizationId: _, ...payload } = JSON.parse(rows[0].event);
    expect(payload.id).toBe(invoices[0]?.eventId);
    const again = await api.deliver(endpoint.id, "WorkItemCompleted", JSON.stringify(payload));
    expect(again).toMatchObject({ succeeded: true, statusCode: 204 });
    expect((await call("GET", `${path}/invoices`)).json).toEqual(invoices);
  },
  BUILD_TIMEOUT_MS,
);
