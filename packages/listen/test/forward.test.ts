import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { makeSelfSigned } from "@herald/dev/certificates/authority";
import { sign } from "@herald/receiver";
import { afterEach, expect, test } from "@jest/globals";
import { type Listener, startListener } from "../src/index.ts";

const secret = "a signing secret";
/** Bytes that a parser would not give back. */
const body = Buffer.from('{ "type": "RiskCreated",  "x": "\\u00e9" }\n');

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

interface Received {
  method: string | undefined;
  url: string | undefined;
  rawHeaders: string[];
  body: Buffer;
}

/** A developer's program; it keeps what it gets. */
async function startProgram(answer: (response: ServerResponse, request: IncomingMessage) => void) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { method, url, rawHeaders } = request;
    received.push({ method, url, rawHeaders, body: Buffer.concat(chunks) });
    answer(response, request);
  });
  return { received, url: await listen(server) };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function startForwarding(
  to: string,
  { timeoutMs = 60_000 } = {},
): Promise<{ listener: Listener; printed: string[] }> {
  const printed: string[] = [];
  const listener = await startListener({
    host: "127.0.0.1",
    port: 0,
    secrets: [secret],
    forward: { url: new URL(to), timeoutMs },
    print: (text) => printed.push(text),
  });
  open.push(listener);
  return { listener, printed };
}

/** Sends headers as they stand, and reads all that comes back. */
function post(url: string, headers: string[], bytes = body, method = "POST") {
  return new Promise<{ status: number | undefined; rawHeaders: string[]; body: string }>((resolve, reject) => {
    const host = ["Host", new URL(url).host];
    const request = httpRequest(url, { method, headers: [...host, ...headers], agent: false }, (response) => {
      let text = "";
      response.setEncoding("latin1").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode, rawHeaders: response.rawHeaders, body: text }));
    });
    request.on("error", reject);
    request.end(bytes);
  });
}

const timestamp = Math.floor(Date.now() / 1000);
const signed = [
  ...["Content-Length", String(body.byteLength)],
  ...["X-Service-Signature", sign(secret, timestamp, body)],
  ...["x-SERVICE-timestamp", String(timestamp)],
  ...["X-Twice", "one"],
  ...["X-Twice", "two"],
];

test("what is forwarded is the request byte for byte, with its headers in their order and spelling, to the URL that was named", async () => {
  const { received, url } = await startProgram((response) => response.end());
  const { listener } = await startForwarding(`${url}/hooks?of=me`);
  await post(`${listener.url}elsewhere`, signed);
  expect(received).toHaveLength(1);
  expect(received[0]?.body).toEqual(body);
  expect(received[0]).toMatchObject({ method: "POST", url: "/hooks?of=me" });
  const [, host, ...headers] = received[0]?.rawHeaders ?? [];
  expect(host).toBe(new URL(url).host);
  expect(headers).toEqual([...signed.slice(2), "Content-Length", String(body.byteLength), "Connection", "close"]);
});

test("what does not verify, and what is no POST, does not reach the program", async () => {
  const { received, url } = await startProgram((response) => response.end());
  const { listener, printed } = await startForwarding(`${url}/hooks`);
  const cookie = ["Cookie", "session=1"];
  expect(await post(`${listener.url}admin/users`, cookie, Buffer.alloc(0), "GET")).toMatchObject({ status: 401 });
  expect(await post(`${listener.url}admin/users/7`, cookie, Buffer.alloc(0), "DELETE")).toMatchObject({ status: 401 });
  expect((await post(listener.url, [])).body).toContain("missing_signature");
  expect(await post(listener.url, signed, body, "PUT")).toMatchObject({ status: 405 });
  expect(received).toEqual([]);
  expect(printed.join()).toContain("NOT VERIFIED (missing_signature)  -> 401");
});

test("the program's answer is printed, and goes to the sender with its headers", async () => {
  const { url } = await startProgram((response) => {
    response.writeHead(503, ["Retry-After", "7", "Set-Cookie", "a=1", "Set-Cookie", "b=2"]).end("the queue is full");
  });
  const { listener, printed } = await startForwarding(`${url}/hooks`);
  const answer = await post(listener.url, signed);
  expect(answer).toMatchObject({ status: 503, body: "the queue is full" });
  expect(answer.rawHeaders.join(" ")).toContain("Retry-After 7 Set-Cookie a=1 Set-Cookie b=2");
  expect(printed.join()).toMatch(/verified, signed \d+ s ago {2}-> 503 by http:\S+\/hooks in \d+ ms\n/);
  expect(printed.join()).toContain("answered: the queue is full");
});

test("if nothing listens, the sender gets 502 and the developer reads what to do", async () => {
  const server = createServer();
  const url = await listen(server);
  await open.pop()?.close();
  const { listener, printed } = await startForwarding(`${url}/hooks`);
  const answer = await post(listener.url, signed);
  expect(answer).toMatchObject({ status: 502, body: expect.stringContaining("nothing listens at") });
  expect(printed.join()).toContain(`-> 502: nothing listens at ${url}/hooks: start your receiver there`);
});

test("a program that does not answer in time is answered for with 504", async () => {
  const { url } = await startProgram(() => {});
  const { listener, printed } = await startForwarding(url, { timeoutMs: 50 });
  expect((await post(listener.url, signed)).status).toBe(504);
  expect(printed.join()).toContain("did not answer within 0.05 s");
});

test("a program that speaks no TLS is not forwarded to by https", async () => {
  const { url } = await startProgram((response) => response.end());
  const { listener, printed } = await startForwarding(url.replace("http:", "https:"));
  expect((await post(listener.url, signed)).status).toBe(502);
  expect(printed.join()).toContain("does not speak https");
});

test("a program whose certificate is not trusted is not forwarded to, and the developer reads how to trust it", async () => {
  const server = createTlsServer(await makeSelfSigned({ names: ["127.0.0.1"] }), (_request, response) =>
    response.end(),
  );
  const url = (await listen(server)).replace("http:", "https:");
  const { listener, printed } = await startForwarding(url);
  expect((await post(listener.url, signed)).status).toBe(502);
  expect(printed.join()).toContain("is not trusted");
  expect(printed.join()).toContain("NODE_EXTRA_CA_CERTS");
});
