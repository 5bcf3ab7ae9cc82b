import { afterEach, expect, test } from "@jest/globals";
import { adminToken } from "../../src/herald/api-client.ts";
import type { ServiceName, ServiceProcess } from "../../src/herald/processes.ts";
import { heraldSettings, JWT_SECRET } from "../../src/herald/settings.ts";
import { useTestEnvironment } from "./test-environment.ts";

const API_PREFIX = "/api/organization/integration-operations";
const environment = useTestEnvironment({ dispatcher: false, publisher: false });
/** Everything that the processes of a test print. */
const printed: string[] = [];

afterEach(() => {
  printed.length = 0;
});

const TALKATIVE = { LOG_LEVEL: "debug" };

const start = (name: ServiceName): Promise<ServiceProcess> =>
  environment.startProcess(name, TALKATIVE, { onLine: (line) => printed.push(line) });

const settings = (changes: object) => ({
  name: "Billing",
  enabled: true,
  rotateSecret: false,
  events: ["WorkItemCompleted"],
  version: null,
  ...changes,
});

/** Asks a process to stop, as an orchestrator does, and waits for its exit code. */
async function terminate({ process: { pid, exited } }: ServiceProcess): Promise<number | null> {
  process.kill(pid, "SIGTERM");
  return (await exited).code;
}

test("§2.3 §7/secrets no secret is in anything that the processes print at their most talkative, serve as metrics, or answer, whatever is asked of them", async () => {
  const { receiver, emitter } = environment;
  const [api, dispatcher] = [await start("management-api"), await start("dispatcher")];
  const publisher = await start("publisher");
  const origin = `http://127.0.0.1:${api.port}`;
  const [own, expired] = [await adminToken("organization-1"), await adminToken("organization-1", "1 minute ago")];
  const answers: string[] = [];
  const { SECRET_KEYS = "" } = heraldSettings(environment.servers);
  const key = SECRET_KEYS.slice(SECRET_KEYS.indexOf(":") + 1);
  const secrets = [own, expired, JWT_SECRET, key, "hunter2", "sk_live_0123456789", "PAYLOAD-MARK", "HEADER-MARK"];
  /** The API shows these to callers who may read them. No process prints them. */
  const shown = ["URL-MARK", "ANSWER-MARK"];

  async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(origin + path, {
      method,
      headers: {
        Authorization: `Bearer ${own}`,
        "Content-Type": "application/json",
        Origin: origin,
        Connection: "close",
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const answer = text && response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined;
    // This is the one answer that may hold a secret.
    if (typeof answer?.signingSecret === "string") {
      secrets.push(answer.signingSecret);
      delete answer.signingSecret;
    }
    answers.push(JSON.stringify(answer ?? text), JSON.stringify([...response.headers]));
    return { status: response.status, body: answer };
  }

  const webhooks = `${API_PREFIX}/webhooks`;
  const url = `${receiver.url}/hook?token=URL-MARK`;
  const { body: created } = await send("POST", webhooks, settings({ url, headers: { Authorization: "HEADER-MARK" } }));
  const path = `${webhooks}/${created.endpoint.id}`;
  const edit = { url, rotateSecret: true, version: created.endpoint.version };
  const { body: edited } = await send("PUT", path, settings(edit));
  await send("PUT", path, settings(edit));
  const deliver = { eventType: "WorkItemCompleted", payloadJson: '"PAYLOAD-MARK"' };
  expect((await send("POST", `${path}/deliver`, deliver)).body.succeeded).toBe(true);
  receiver.answerWith({ status: 500, body: "ANSWER-MARK" });
  expect((await send("POST", `${path}/deliver`, deliver)).body.succeeded).toBe(false);
  receiver.answerWith({ fault: "reset" });
  expect((await send("POST", `${path}/deliver`, deliver)).body.statusCode).toBe(503);
  await send("POST", `${path}/deliver`, { ...deliver, payloadJson: '"PAYLOAD-MARK' });
  await send("POST", `${path}/deliver`, '{"payloadJson":"PAYLOAD-MARK');
  receiver.answerWith({ status: 200, body: "ANSWER-MARK" });
  const before = receiver.requests.length;
  const occurredAtUtc = new Date().toISOString();
  await emitter.emit(
    environment.event({ organizationId: "organization-1", occurredAtUtc, data: { text: "PAYLOAD-MARK" } }),
  );
  await receiver.received(before + 1);
  await send("POST", webhooks, settings({ url: "https://me:hunter2@example.com/", name: 7 }));
  for (const get of [webhooks, `${webhooks}/overview`, path, `${path}/deliveries`, `${API_PREFIX}/session`]) {
    expect((await send("GET", get)).status).toBe(200);
  }
  await send("POST", webhooks, settings({ url, headers: { Authorization: "HEADER-MARK\n", Host: "HEADER-MARK" } }));
  await send("GET", `${path}/changes`);
  await send("GET", webhooks, undefined, { Authorization: `Bearer ${expired}` });
  await send("GET", webhooks, undefined, { Authorization: "Bearer sk_live_0123456789" });
  await send("GET", webhooks, undefined, { "X-Api-Key": "sk_live_0123456789", Authorization: "" });
  await send("GET", `${webhooks}?access_token=${own}`, undefined, { Authorization: "" });
  await send("POST", "/administration/session", { token: expired });
  await send("GET", `${path}/%ff`);
  await send("DELETE", path, { version: edited.endpoint.version });
  for (const { operationsUrl } of [api, dispatcher, publisher]) {
    answers.push(await (await fetch(`${operationsUrl}/metrics`, { headers: { Connection: "close" } })).text());
  }
  expect(await Promise.all([api, dispatcher, publisher].map(terminate))).toEqual([0, 0, 0]);
  const text = printed.join("\n");
  expect(text).toContain('"operation":"deliverManually"');
  for (const outcome of ["attempt failed", "attempt succeeded"]) expect(text).toContain(outcome);
  expect(receiver.requests.at(-1)?.headers.authorization).toBe("HEADER-MARK");
  expect(secrets).toHaveLength(10);
  for (const secret of [...secrets, ...shown]) {
    if (text.includes(secret)) throw new Error(`A log holds ${secret}.`);
    if (shown.includes(secret)) continue;
    // The payload is what was delivered by hand, and the history shows it to callers who may read it.
    if (answers.some((answer) => answer.includes(secret))) throw new Error(`An answer holds ${secret}.`);
  }
});
