import { setTimeout as delay } from "node:timers/promises";
import { parsePrivateNetworks } from "@herald/common/security/private-networks";
import { type KeyPair, makeAuthority } from "@herald/testkit/certificates/authority";
import { eventually } from "@herald/testkit/harness/eventually";
import { afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { AttemptRequest, Sender } from "../../src/attempt/index.ts";
import { type Receiver, scriptedReceiver, wellBehavedReceiver } from "./receivers.ts";
import { request, SHORT_DEADLINE_MS, sender } from "./sending.ts";

let extraCa: string;
let tls: KeyPair;
let receiver: Receiver;
let sending: Sender;

beforeAll(async () => {
  const authority = await makeAuthority("Test authority");
  extraCa = authority.cert;
  tls = await authority.issue({ names: ["receiver.test"] });
});

afterEach(async () => {
  await sending.close();
  await receiver.close();
});

const send = (overrides: Partial<AttemptRequest> = {}) =>
  sending.send(request({ url: `https://receiver.test:${receiver.port}/`, ...overrides }));

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Answers the first request of the first connection, then does as told. */
async function failsLater(later: (socket: Parameters<Parameters<typeof scriptedReceiver>[1]>[0], nth: number) => void) {
  let requests = 0;
  receiver = await scriptedReceiver(tls, (socket) => {
    requests += 1;
    if (requests === 1) socket.write(OK);
    else later(socket, requests);
  });
  sending = sender({ extraCa, deadlineMs: SHORT_DEADLINE_MS });
  expect(await send()).toMatchObject({ statusCode: 200 });
  return { requests: () => requests };
}

describe("connections", () => {
  test("are used again, one after the other", async () => {
    receiver = await wellBehavedReceiver(tls);
    sending = sender({ extraCa });
    for (let i = 0; i < 10; i++) expect(await send()).toMatchObject({ statusCode: 200 });
    expect(receiver.accepted()).toBe(1);
  });

  test("are shared by endpoints of one host, and by failures", async () => {
    receiver = await wellBehavedReceiver(tls, ({ url }, response) =>
      response.writeHead(url === "/a" ? 200 : 500).end("x"),
    );
    sending = sender({ extraCa });
    for (const path of ["a", "b", "a"]) await send({ url: `https://receiver.test:${receiver.port}/${path}` });
    expect(receiver.accepted()).toBe(1);
  });

  test("are not shared by names of one address", async () => {
    receiver = await wellBehavedReceiver(tls);
    sending = sender({ extraCa });
    expect(await send()).toMatchObject({ statusCode: 200 });
    const other = `https://other.test:${receiver.port}/`;
    expect(await send({ url: other })).toMatchObject({ errorSummary: "certificate is for another name" });
  });

  test("go on to a name's next address where the first refuses", async () => {
    receiver = await wellBehavedReceiver(tls);
    const allowedPrivateNetworks = parsePrivateNetworks("127.0.0.0/8");
    const answer = ["127.0.0.2", "127.0.0.1"].map((address) => ({ address, family: 4 }));
    sending = sender({ extraCa, allowedPrivateNetworks, resolve: async () => answer });
    expect(await send()).toMatchObject({ statusCode: 200 });
    answer.pop();
    answer.push({ address: "127.0.0.3", family: 4 });
    expect(await send({ url: `https://other.test:${receiver.port}/` })).toMatchObject({
      errorSummary: "connection refused",
    });
  });

  test("are closed before a receiver does that said when it would", async () => {
    receiver = await wellBehavedReceiver(tls, (_request, response) =>
      response.writeHead(200, { "keep-alive": "timeout=1" }).end(),
    );
    sending = sender({ extraCa });
    await send();
    await eventually(() => expect(receiver.open()).toBe(0), { timeoutMs: 500 });
  });

  test("resume their TLS session", async () => {
    let resumed = 0;
    receiver = await scriptedReceiver(tls, (socket) => {
      if (socket.isSessionReused()) resumed += 1;
      socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    });
    sending = sender({ extraCa });
    for (let i = 0; i < 3; i++) {
      await send();
      await eventually(() => expect(receiver.open()).toBe(0));
    }
    expect(resumed).toBe(2);
  });

  test("all close with the sender", async () => {
    receiver = await wellBehavedReceiver(tls);
    sending = sender({ extraCa });
    await Promise.all(Array.from({ length: 5 }, () => send()));
    expect(receiver.open()).toBe(5);
    await sending.close();
    await eventually(() => expect(receiver.open()).toBe(0));
  });
});

describe("a connection that was closed while it was idle", () => {
  test("by a reset: the attempt goes out again at once, on a fresh one", async () => {
    const { requests } = await failsLater((socket, nth) => (nth === 2 ? receiver.reset(socket) : socket.write(OK)));
    expect(await send()).toMatchObject({ statusCode: 200, succeeded: true });
    expect(requests()).toBe(3);
    expect(receiver.accepted()).toBe(2);
  });

  test("by an end: likewise", async () => {
    const { requests } = await failsLater((socket, nth) => (nth === 2 ? socket.end() : socket.write(OK)));
    expect(await send()).toMatchObject({ statusCode: 200, succeeded: true });
    expect(requests()).toBe(3);
  });

  test("among others that were: the fresh one is none of them", async () => {
    let closed = false;
    receiver = await scriptedReceiver(tls, (socket) => {
      if (closed && receiver.accepted() === 3) receiver.reset(socket);
      else socket.write(OK);
    });
    sending = sender({ extraCa });
    await Promise.all([send(), send(), send()]);
    expect(receiver.accepted()).toBe(3);
    closed = true;
    expect(await send()).toMatchObject({ statusCode: 200 });
    expect(receiver.accepted()).toBe(4);
  });

  test("goes out again with the same bytes: it is the same attempt", async () => {
    const seen: string[] = [];
    receiver = await scriptedReceiver(tls, (socket, text) => {
      seen.push(text);
      if (seen.length === 2) receiver.reset(socket);
      else socket.write(OK);
    });
    sending = sender({ extraCa });
    await send();
    await send({ body: '{"again":true}' });
    const [, cut, again] = seen;
    expect(again?.replace("Connection: close", "Connection: keep-alive")).toBe(cut);
  });

  test("fails for good where the fresh one is reset too", async () => {
    const { requests } = await failsLater((socket) => receiver.reset(socket));
    expect(await send()).toMatchObject({ statusCode: 503, errorSummary: "connection reset" });
    expect(requests()).toBe(3);
  });

  test("goes out again within what is left of the deadline", async () => {
    const { requests } = await failsLater(async (socket, nth) => {
      if (nth !== 2) return;
      await delay(SHORT_DEADLINE_MS / 2);
      receiver.reset(socket);
    });
    const startedMs = performance.now();
    expect(await send()).toMatchObject({ statusCode: 503, errorSummary: "timed out after 0.4 s" });
    expect(performance.now() - startedMs).toBeLessThan(SHORT_DEADLINE_MS * 1.45);
    expect(requests()).toBe(3);
  });

  test("does not go out again once a byte of the answer was there", async () => {
    const { requests } = await failsLater((socket) => socket.end("HTTP/1.1 2"));
    expect(await send()).toMatchObject({ statusCode: 503, errorSummary: "connection closed without a response" });
    expect(requests()).toBe(2);
  });

  test("does not go out again after a timeout", async () => {
    const { requests } = await failsLater(() => {});
    expect(await send()).toMatchObject({ errorSummary: "timed out after 0.4 s" });
    expect(requests()).toBe(2);
  });
});

test("a reset of a fresh connection is a failure, and not sent again", async () => {
  let requests = 0;
  receiver = await scriptedReceiver(tls, (socket) => {
    requests += 1;
    receiver.reset(socket);
  });
  sending = sender({ extraCa });
  expect(await send()).toMatchObject({ statusCode: 503, errorSummary: "connection reset" });
  expect(requests).toBe(1);
});
