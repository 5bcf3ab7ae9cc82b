import { randomBytes } from "node:crypto";
import { request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";
import { sign } from "@herald/receiver";
import { afterEach, beforeAll, expect, test } from "@jest/globals";
import type { KeyPair } from "../src/certificates/authority.ts";
import { type DemoReceiver, startDemoReceiver } from "../src/demo-receiver/demo-receiver.ts";
import { certificates } from "../src/harness/certificates.ts";
import { eventually } from "../src/harness/eventually.ts";

let tls: KeyPair;
let ca: string;
beforeAll(async () => {
  const { trusted, caPem } = await certificates();
  tls = trusted;
  ca = caPem;
});

let receiver: DemoReceiver | undefined;
let printed: string[] = [];
afterEach(async () => {
  await receiver?.close();
  receiver = undefined;
  printed = [];
});

async function start(secrets: () => Promise<string[]>): Promise<DemoReceiver> {
  receiver = await startDemoReceiver({ port: 0, tls, secrets, print: (text) => printed.push(text) });
  return receiver;
}

const aSecret = () => randomBytes(32).toString("base64");
const event = { id: "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111", type: "RiskCreated", data: {} };

/** One request, over a connection of its own. */
function call(url: string, method: string, body = "", headers: Record<string, string> = {}, timeoutMs = 5000) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const options = { method, headers, ca, agent: false, timeout: timeoutMs };
    const request = httpsRequest(url, options, (response) => {
      text(response).then((said) => resolve({ status: response.statusCode, text: said }), reject);
    });
    request.on("error", reject);
    request.on("timeout", () => request.destroy(new Error("no answer in time")));
    request.end(body);
  });
}

/** Sends as a dispatcher does. */
function deliver(url: string, secret: string, timeoutMs = 5000) {
  const body = JSON.stringify(event);
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = {
    "X-Service-Signature": sign(secret, timestamp, Buffer.from(body)),
    "X-Service-Timestamp": String(timestamp),
    "X-Service-Event": event.type,
    "X-Service-Delivery-Id": "delivery-1",
  };
  return call(url, "POST", body, headers, timeoutMs);
}

const json = { "Content-Type": "application/json" };
test("§5.5 a request of a new endpoint verifies, although the receiver did not know its secret", async () => {
  const stored: string[] = [];
  let readings = 0;
  const { url } = await start(async () => {
    readings++;
    return [...stored];
  });
  for (let i = 0; i < 3; i++) {
    stored.push(aSecret());
    expect((await deliver(url, stored[i] ?? "")).status).toBe(200);
    expect((await deliver(url, stored[0] ?? "")).status).toBe(200);
  }
  expect(readings).toBe(3);
  expect(printed).toHaveLength(6);
  expect(printed[0]).toContain("RiskCreated  verified");
});

test("§4.4.2 what no known secret fits is refused", async () => {
  const secret = aSecret();
  const { url } = await start(async () => []);
  const refused = await deliver(url, secret);
  expect(refused.status).toBe(401);
  expect(printed[0]).toContain("NOT VERIFIED (no_secret)");
  expect(printed.join()).not.toContain(secret);
});

test("the receiver works on when secrets cannot be read", async () => {
  const { url } = await start(() => Promise.reject(new Error("the database is away")));
  expect((await deliver(url, aSecret())).status).toBe(401);
  expect(printed[0]).toContain("secrets cannot be read: the database is away");
});

const put = (controlUrl: string, behaviour: object) =>
  call(`${controlUrl}/control`, "PUT", JSON.stringify(behaviour), json);

test("PUT /control says how deliveries are treated", async () => {
  const secret = aSecret();
  const { url, controlUrl } = await start(async () => [secret]);
  expect((await put(controlUrl, { status: 500, delayMs: 200 })).status).toBe(200);
  const begun = Date.now();
  expect((await deliver(url, secret)).status).toBe(500);
  expect(Date.now() - begun).toBeGreaterThanOrEqual(195);
  await put(controlUrl, { status: 302 });
  expect((await deliver(url, secret)).status).toBe(302);
  await put(controlUrl, { mode: "cut" });
  await expect(deliver(url, secret)).rejects.toThrow("socket hang up");
  await put(controlUrl, { mode: "hang" });
  await expect(deliver(url, secret, 300)).rejects.toThrow("no answer in time");
  expect(JSON.parse((await put(controlUrl, {})).text)).toEqual({ mode: "answer", status: 200, delayMs: 0 });
  expect((await deliver(url, secret)).status).toBe(200);
  expect((await put(controlUrl, { mode: "sulk" })).status).toBe(400);
  expect((await put(controlUrl, { status: 1000 })).text).toBe("status must be a whole number from 200 to 599\n");
  expect((await call(`${controlUrl}/control`, "PUT", "{", json)).status).toBe(400);
  expect((await call(`${controlUrl}/control`, "PUT", "{}")).status).toBe(400);
});

test("a browser gets the help text of the demo receiver", async () => {
  const { controlUrl } = await start(async () => []);
  expect((await call(`${controlUrl}/`, "GET")).text).toContain(`PUT ${controlUrl}/control`);
});

test("the demo receiver ends while a delivery hangs", async () => {
  const secret = aSecret();
  const started = await start(async () => [secret]);
  await put(started.controlUrl, { mode: "hang" });
  const hanging = expect(deliver(started.url, secret)).rejects.toThrow();
  await eventually(() => expect(printed).toHaveLength(1));
  await put(started.controlUrl, { delayMs: 60_000 });
  const slow = expect(deliver(started.url, secret)).rejects.toThrow();
  await eventually(() => expect(printed).toHaveLength(2));
  await started.close();
  await Promise.all([hanging, slow]);
});
