import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { certificates } from "@herald/testkit/harness/certificates";
import { eventually } from "@herald/testkit/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/testkit/harness/https-receiver";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { API_PREFIX } from "../src/operations.ts";
import { settings } from "./support/endpoints.ts";
import { JWT_SECRET, token } from "./support/tokens.ts";
import { SECRET_KEYS } from "./support/use-api.ts";

/** The built services, as processes: what they print, and how they end. */
const main = (service: string) => fileURLToPath(new URL(`../../${service}/dist/main.js`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "herald-processes-"));

interface Running {
  process: ChildProcess;
  output: string[];
  exited: Promise<number | null>;
}

const running: Running[] = [];
let receiver: HttpsReceiver;

// Before the database and the broker look for connections that are left.
afterAll(async () => {
  for (const { process, exited } of running) {
    process.kill("SIGKILL");
    await exited;
  }
  await receiver?.close();
  rmSync(folder, { recursive: true, force: true });
});
const database = useDatabase();
const broker = useBroker();

beforeAll(async () => {
  receiver = await httpsReceiver();
  writeFileSync(join(folder, "ca.pem"), (await certificates()).caPem);
});

function start(service: string, settingsOfTest: Record<string, string> = {}): Running {
  const child = spawn(process.execPath, [main(service)], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: database.url,
      AMQP_URL: broker.url,
      BROKER_NAMESPACE: broker.namespace,
      SECRET_KEYS,
      AUTH_JWT_SECRET: JWT_SECRET,
      ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8",
      EXTRA_CA_FILE: join(folder, "ca.pem"),
      HTTP_HOST: "127.0.0.1",
      PORT: "0",
      OPERATIONS_PORT: "0",
      LOG_LEVEL: "debug",
      SIGN_IN_LINKS: "true",
      ...settingsOfTest,
    },
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => output.push(text));
  }
  const exited = once(child, "exit").then(([code]) => code as number | null);
  const started = { process: child, output, exited };
  running.push(started);
  return started;
}

async function ports({ output }: Running): Promise<{ port: number; operationsPort: number }> {
  return await eventually(() => {
    const line = output
      .join("")
      .split("\n")
      .find((each) => each.includes('"listening"'));
    if (line === undefined) throw new Error(`It doesn't listen yet: ${output.join("")}`);
    return JSON.parse(line);
  });
}

describe("management-api and dispatcher as processes", () => {
  test("§2.3 no secret is in anything that they print, serve as metrics, or answer, whatever is asked of them", async () => {
    const api = start("management-api");
    const dispatcher = start("dispatcher");
    const { port, operationsPort } = await ports(api);
    const origin = `http://127.0.0.1:${port}`;
    await eventually(async () => expect((await fetch(`http://127.0.0.1:${operationsPort}/readyz`)).status).toBe(200));
    const own = await token();
    const expired = await token({ expiresInS: -60 });
    const answers: string[] = [];
    const secrets = [own, expired, JWT_SECRET, SECRET_KEYS, "hunter2", "sk_live_0123456789", "PAYLOAD-MARK"];

    async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
      const response = await fetch(origin + path, {
        method,
        headers: { Authorization: `Bearer ${own}`, "Content-Type": "application/json", Origin: origin, ...headers },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const answer = text && response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined;
      // This one answer is where a secret belongs.
      if (typeof answer?.signingSecret === "string") {
        secrets.push(answer.signingSecret);
        delete answer.signingSecret;
      }
      answers.push(JSON.stringify(answer ?? text), JSON.stringify([...response.headers]));
      return { status: response.status, body: answer };
    }

    const webhooks = `${API_PREFIX}/webhooks`;
    const url = `${receiver.url}/hook`;
    const { body: created } = await send("POST", webhooks, settings({ url }));
    const path = `${webhooks}/${created.endpoint.id}`;
    const edit = { url, rotateSecret: true, version: created.endpoint.version };
    const { body: edited } = await send("PUT", path, settings(edit));
    await send("PUT", path, settings(edit));
    const deliver = { eventType: "WorkItemCompleted", payloadJson: '"PAYLOAD-MARK"' };
    expect((await send("POST", `${path}/deliver`, deliver)).body.succeeded).toBe(true);
    receiver.answerWith({ status: 500, body: "no" });
    expect((await send("POST", `${path}/deliver`, deliver)).body.succeeded).toBe(false);
    receiver.answerWith({ fault: "reset" });
    expect((await send("POST", `${path}/deliver`, deliver)).body.statusCode).toBe(503);
    await send("POST", `${path}/deliver`, { ...deliver, payloadJson: '"PAYLOAD-MARK' });
    await send("POST", `${path}/deliver`, '{"payloadJson":"PAYLOAD-MARK');
    await send("POST", webhooks, settings({ url: "https://me:hunter2@example.com/", name: 7 }));
    for (const get of [webhooks, `${webhooks}/overview`, path, `${path}/deliveries`, `${API_PREFIX}/session`]) {
      expect((await send("GET", get)).status).toBe(200);
    }
    await send("GET", webhooks, undefined, { Authorization: `Bearer ${expired}` });
    await send("GET", webhooks, undefined, { Authorization: "Bearer sk_live_0123456789" });
    await send("GET", webhooks, undefined, { "X-Api-Key": "sk_live_0123456789", Authorization: "" });
    await send("GET", `${webhooks}?access_token=${own}`, undefined, { Authorization: "" });
    await send("POST", "/administration/session", { token: expired });
    await send("GET", `${path}/%ff`);
    await send("DELETE", path, { version: edited.endpoint.version });
    answers.push(await (await fetch(`http://127.0.0.1:${operationsPort}/metrics`)).text());

    for (const service of [api, dispatcher]) service.process.kill("SIGTERM");
    expect(await Promise.all([api.exited, dispatcher.exited])).toEqual([0, 0]);
    const printed = [...api.output, ...dispatcher.output].join("");
    expect(printed).toContain('"operation":"deliverManually"');
    expect(printed).toContain("attempt failed");
    expect(secrets).toHaveLength(9);
    for (const secret of secrets) {
      if (printed.includes(secret)) throw new Error(`A log holds ${secret}.`);
      // The payload is what was delivered by hand, and the history shows it to who may read it.
      if (answers.some((answer) => answer.includes(secret))) throw new Error(`An answer holds ${secret}.`);
    }
  }, 60_000);

  test("SIGTERM: a manual delivery that is under way is answered, and the process ends with 0", async () => {
    const api = start("management-api");
    const dispatcher = start("dispatcher");
    const { port } = await ports(api);
    receiver.answerWith({ delayMs: 1_000 });
    const send = async (method: string, path: string, body: object) =>
      await fetch(`http://127.0.0.1:${port}${API_PREFIX}${path}`, {
        method,
        headers: { Authorization: `Bearer ${await token()}`, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
    const { endpoint } = (await (await send("POST", "/webhooks", settings({ url: receiver.url }))).json()) as {
      endpoint: { id: string };
    };
    const before = receiver.requests.length;
    const deliver = { eventType: "WorkItemCompleted", payloadJson: "{}" };
    const underWay = send("POST", `/webhooks/${endpoint.id}/deliver`, deliver);
    await receiver.received(before + 1);
    api.process.kill("SIGTERM");
    expect(await (await underWay).json()).toMatchObject({ succeeded: true, attemptCount: 1 });
    expect(await api.exited).toBe(0);
    dispatcher.process.kill("SIGTERM");
    expect(await dispatcher.exited).toBe(0);
  }, 60_000);

  test("without a dispatcher, a manual delivery is kept and answered with attemptCount 0", async () => {
    const api = start("management-api", { MANUAL_DELIVERY_TIMEOUT_MS: "300" });
    const { port } = await ports(api);
    const headers = { Authorization: `Bearer ${await token()}`, "Content-Type": "application/json" };
    const post = async (path: string, body: object) =>
      await (
        await fetch(`http://127.0.0.1:${port}${API_PREFIX}${path}`, {
          method: "POST",
          headers,
          body: JSON.stringify(body),
        })
      ).json();
    const { endpoint } = (await post("/webhooks", settings({ url: receiver.url }))) as { endpoint: { id: string } };
    const summary = await post(`/webhooks/${endpoint.id}/deliver`, {
      eventType: "WorkItemCompleted",
      payloadJson: "{}",
    });
    expect(summary).toMatchObject({ attemptCount: 0, succeeded: false, statusCode: null, attemptedAtUtc: null });
    const [row] = await database.database.prisma.delivery.findMany({ where: { endpointId: endpoint.id } });
    expect(row).toMatchObject({ state: "pending", attemptCount: 0, nextAttemptAt: expect.any(Date) });
    api.process.kill("SIGTERM");
    expect(await api.exited).toBe(0);
  });

  test("a configuration that can't be used ends the start with 78, every problem, and no secret", async () => {
    const api = start("management-api", {
      AUTH_JWT_SECRET: "",
      SECRET_KEYS: "",
      PORT: "many",
      BASE_PATH: "no-slash",
    });
    expect(await api.exited).toBe(78);
    const printed = api.output.join("");
    for (const name of ["SECRET_KEYS", "PORT", "BASE_PATH"]) expect(printed).toContain(name);
  });
});
