import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SaveWebhookResponse, WebhookEndpointSummary } from "@herald/contracts";
import { eventually } from "../harness/eventually.ts";
import { cloneDatabase, dropDatabase } from "../harness/template-database.ts";
import { projectFolder } from "../stack/folders.ts";
import { freePort } from "../stack/ports.ts";
import { startProcess } from "../stack/processes.ts";
import { withoutPnpm } from "../stack/programs.ts";
import { localCertificates } from "../start/local-certificates.ts";
import { brokerNamespace, type RunInfo, readRunFile } from "../start/local-files.ts";

export interface RunningExample {
  /** The product's API. */
  url: string;
  stop(): Promise<void>;
}

/**
 * Starts an example beside the Herald that runs here, with a new database of its own and a webhook endpoint.
 *
 * @param name its folder in examples/
 */
export async function startExample(name: string, local: string): Promise<RunningExample> {
  const info = readRunFile(local);
  const database = name.replaceAll("-", "_");
  await dropDatabase(info.databaseUrl, database);
  const databaseUrl = await cloneDatabase(info.databaseUrl, "template0", database);
  const [port, webhookPort] = [await freePort(3000), await freePort(8444)];
  const secret = await makeEndpoint(info, `Billing of examples/${name}`, `https://127.0.0.1:${webhookPort}/webhooks`);
  const app = await startApp(name, {
    DATABASE_URL: databaseUrl,
    AMQP_URL: info.amqpUrl,
    BROKER_NAMESPACE: brokerNamespace(local),
    ORGANIZATION_ID: info.organizationId,
    PORT: String(port),
    WEBHOOK_PORT: String(webhookPort),
    WEBHOOK_SECRET: secret,
    ...(await writeCertificate(local)),
  });
  return { url: `http://127.0.0.1:${port}`, stop: app.stop };
}

/** A certificate for billing, of the authority that this Herald trusts. */
async function writeCertificate(local: string): Promise<{ TLS_CERT_FILE: string; TLS_KEY_FILE: string }> {
  const { receiver } = await localCertificates(join(local, "certificates"), process.env.EXTRA_CA_FILE);
  const folder = join(local, "example");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const files = { TLS_CERT_FILE: join(folder, "billing.pem"), TLS_KEY_FILE: join(folder, "billing-key.pem") };
  writeFileSync(files.TLS_CERT_FILE, receiver.cert);
  writeFileSync(files.TLS_KEY_FILE, receiver.key, { mode: 0o600 });
  return files;
}

/** Completes a work item, and waits for what billing makes of it. Prints each step. */
export async function showEffect(url: string, print: (line: string) => void): Promise<void> {
  const workItem = await call<{ id: string }>("", "POST", `${url}/work-items`, { title: "Write the report" });
  print(`The product has a work item: ${workItem.id}`);
  await call("", "POST", `${url}/work-items/${workItem.id}/complete`);
  print("It is completed: its status and the event are in the product's database.");
  const invoices = await eventually(async () => {
    const found = await call<object[]>("", "GET", `${url}/work-items/${workItem.id}/invoices`);
    if (found.length === 0) throw new Error(`Billing has written no invoice for the work item ${workItem.id}.`);
    return found;
  });
  print(`Herald told billing, which has written an invoice: ${JSON.stringify(invoices[0])}`);
}

/** Makes the webhook endpoint of the example, in place of one that an earlier run left. Returns its signing secret. */
async function makeEndpoint(info: RunInfo, name: string, url: string): Promise<string> {
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
async function call<Answer>(token: string, method: string, url: string, body?: object): Promise<Answer> {
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

/** What an app of examples/ reads from its environment; its README says what each means. */
export interface AppSettings {
  DATABASE_URL: string;
  AMQP_URL: string;
  BROKER_NAMESPACE: string;
  ORGANIZATION_ID: string;
  PORT: string;
  WEBHOOK_PORT: string;
  WEBHOOK_SECRET: string;
  TLS_CERT_FILE: string;
  TLS_KEY_FILE: string;
}

export interface RunningApp {
  stop(): Promise<void>;
}

/**
 * Starts a whole app of the folder examples/ by its `start.sh`, a product that emits and billing that receives, and resolves when it
 * listens. What it says goes to this process's standard error.
 *
 * @throws where it ends before that, with its last lines
 */
export async function startApp(name: string, settings: AppSettings): Promise<RunningApp> {
  const script = join(projectFolder(), "examples", name, "start.sh");
  let tellReady = () => {};
  const ready = new Promise<void>((resolve) => {
    tellReady = resolve;
  });
  const child = await startProcess({
    name: `example-${name}`,
    command: "sh",
    args: [script],
    env: { ...withoutPnpm(), HERALD: projectFolder(), ...settings },
    pidFolder: join(tmpdir(), "herald-examples"),
    mark: script,
    onLine: (line) => (line === "Ready." ? tellReady() : process.stderr.write(`${line}\n`)),
  });
  const ended = child.exited.then(({ code }) => {
    throw new Error(`examples/${name} ended with ${code} before it was ready:\n${child.lastLines().join("\n")}`);
  });
  await Promise.race([ready, ended]);
  return child;
}
