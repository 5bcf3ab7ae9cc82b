import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { addressRules } from "@herald/common/security/address-guard";
import { eventually } from "@herald/dev/harness/eventually";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { AttemptRequest } from "../../src/http/sender.ts";
import { type Receiver, scriptedReceiver, wellBehavedReceiver } from "./receivers.ts";
import {
  extraAuthorities,
  NOW,
  request,
  sender,
  type TestSender,
  type TestSenderOptions,
  through,
  tls,
  WAYS,
} from "./sending.ts";

let receiver: Receiver;
let sending: TestSender;

afterEach(async () => {
  await sending.close();
  await receiver.close();
});

const send = (overrides: Partial<AttemptRequest> = {}) =>
  sending.send(request({ url: `https://receiver.test:${receiver.port}/`, ...overrides }));

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Answers the first request of the first connection, then calls `later`. */
async function failsLater(
  later: (socket: Parameters<Parameters<typeof scriptedReceiver>[1]>[0], nth: number) => void,
  options: TestSenderOptions = {},
) {
  let requests = 0;
  receiver = await scriptedReceiver(tls, (socket) => {
    requests += 1;
    if (requests === 1) socket.write(OK);
    else later(socket, requests);
  });
  sending = sender({ extraAuthorities, deadlineMs: 60_000, ...options });
  expect(await send()).toMatchObject({ statusCode: 200 });
  return { requests: () => requests };
}

// Under load most receivers do: the head is enough for their decision, or their answer overtakes the end of the request.
test("regression: a connection is kept whose receiver answers before it has read the whole request", async () => {
  receiver = await scriptedReceiver(tls, (socket) => socket.write(OK));
  sending = sender({ extraAuthorities });
  for (let i = 0; i < 3; i++) expect(await send({ body: "x".repeat(8 << 20) })).toMatchObject({ statusCode: 200 });
  expect(receiver.accepted()).toBe(1);
});

test("endpoints of one host share a connection, also after failures", async () => {
  receiver = await wellBehavedReceiver(tls, ({ url }, response) =>
    response.writeHead(url === "/a" ? 200 : 500).end("x"),
  );
  sending = sender({ extraAuthorities });
  for (const path of ["a", "b", "a"]) await send({ url: `https://receiver.test:${receiver.port}/${path}` });
  expect(receiver.accepted()).toBe(1);
});

test("names of one address share no connection", async () => {
  receiver = await wellBehavedReceiver(tls);
  sending = sender({ extraAuthorities });
  expect(await send()).toMatchObject({ statusCode: 200 });
  const other = `https://other.test:${receiver.port}/`;
  expect(await send({ url: other })).toMatchObject({ errorSummary: "certificate is for another name" });
});

test("a connection goes to a name's next address if the first refuses", async () => {
  receiver = await wellBehavedReceiver(tls);
  const addresses = addressRules({ ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8" });
  const answer = ["127.0.0.2", "127.0.0.1"].map((address) => ({ address, family: 4 }));
  sending = sender({ extraAuthorities, addresses, resolve: async () => answer });
  expect(await send()).toMatchObject({ statusCode: 200 });
  answer.pop();
  answer.push({ address: "127.0.0.3", family: 4 });
  expect(await send({ url: `https://other.test:${receiver.port}/` })).toMatchObject({
    errorSummary: "connection refused",
  });
});

test.each(["timeout=1", "max=9, Timeout = 1", 'timeout="1"'])(
  "a connection is closed before the time at which its receiver said that it would close it, and not used until then: Keep-Alive: %s",
  async (announced) => {
    receiver = await wellBehavedReceiver(tls, (_request, response) =>
      response.writeHead(200, { "keep-alive": announced }).end(),
    );
    sending = sender({ extraAuthorities });
    for (let i = 0; i < 2; i++) await send();
    expect(receiver.accepted()).toBe(2);
    await eventually(() => expect(receiver.open()).toBe(0));
  },
);

test.each(WAYS)("connections resume their TLS session: %s", async (way) => {
  let resumed = 0;
  receiver = await scriptedReceiver(tls, (socket) => {
    if (socket.isSessionReused()) resumed += 1;
    socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
  });
  sending = await through(way, { extraAuthorities });
  for (let i = 0; i < 3; i++) {
    await send();
    await eventually(() => expect(receiver.open()).toBe(0));
  }
  expect(resumed).toBe(2);
});

test.each(WAYS)(
  "regression: an idle connection holds nothing of the request that it was opened for: %s",
  async (way) => {
    receiver = await wellBehavedReceiver(tls);
    sending = await through(way, { extraAuthorities });
    const sendOne = async () => {
      const body = Buffer.from("a body");
      await send({ body });
      return new WeakRef(body);
    };
    const body = await sendOne();
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    await eventually(() => {
      collectGarbage();
      expect(body.deref()).toBeUndefined();
    });
    expect(receiver.open()).toBe(1);
  },
);

test("all connections close with the sender", async () => {
  receiver = await wellBehavedReceiver(tls);
  sending = sender({ extraAuthorities });
  await Promise.all(Array.from({ length: 5 }, () => send()));
  expect(receiver.open()).toBe(5);
  await sending.close();
  await eventually(() => expect(receiver.open()).toBe(0));
});

describe("a connection that was closed while it was idle", () => {
  test.each(["reset", "ended"])(
    "an attempt whose idle connection was %s goes out again at once, on a fresh one",
    async (how) => {
      const { requests } = await failsLater((socket, nth) => {
        if (nth !== 2) socket.write(OK);
        else if (how === "reset") receiver.reset(socket);
        else socket.end();
      });
      expect(await send()).toMatchObject({ statusCode: 200, succeeded: true });
      expect(requests()).toBe(3);
      expect(receiver.accepted()).toBe(2);
    },
  );

  const TIMEOUT = "HTTP/1.1 408 Request Time-out\r\n";
  test.each([
    ["408 and its end", 200, `${TIMEOUT}Connection: close\r\nContent-Length: 0\r\n\r\n`],
    ["408 of HTTP/1.0, in capitals", 200, "HTTP/1.0 408 x\r\nCONNECTION: CLOSE\r\n\r\n<h1>408</h1>"],
    ["408 and no end", 408, `${TIMEOUT}Content-Length: 0\r\n\r\n`],
  ])("regression: a used connection that answers %s gives %d", async (_title, status, answer) => {
    // A balancer's time for idle connections may be over as the next request is on its way.
    await failsLater((socket, nth) => (nth === 2 ? socket.end(answer) : socket.write(OK)));
    expect(await send()).toMatchObject({ statusCode: status });
  });

  test("an attempt fails by 408 over a fresh connection too", async () => {
    const { requests } = await failsLater((socket) => socket.end(`${TIMEOUT}Connection: close\r\n\r\n`));
    expect(await send()).toMatchObject({ statusCode: 408, errorSummary: "receiver answered 408" });
    expect(requests()).toBe(3);
  });

  test.each(WAYS)("an attempt goes out again with the same bytes: %s", async (way) => {
    const seen: string[] = [];
    receiver = await scriptedReceiver(tls, (socket, text) => {
      seen.push(text);
      if (seen.length === 2) receiver.reset(socket);
      else socket.write(OK);
    });
    sending = await through(way, { extraAuthorities });
    await send();
    await send({ body: '{"again":true}' });
    const [, cut, again] = seen;
    expect(again?.replace("Connection: close", "Connection: keep-alive")).toBe(cut);
  });

  test("an attempt fails if the fresh connection is reset too", async () => {
    const { requests } = await failsLater((socket) => receiver.reset(socket));
    expect(await send()).toMatchObject({ statusCode: 503, errorSummary: "connection reset" });
    expect(requests()).toBe(3);
  });

  test.each([
    [2_000, 3, "timed out after 600 s"],
    [0, 2, "connection reset"],
    [-100, 2, "connection reset"],
  ])("an attempt goes out again within the rest of its deadline: %d ms", async (leftMs, times, errorSummary) => {
    const clock = steeredClock(NOW);
    // A whole deadline for the second request would outlast this test's own time.
    const deadlineMs = 600_000;
    const { requests } = await failsLater(
      (socket, nth) => {
        if (nth !== 2) return;
        clock.advance(deadlineMs - leftMs);
        receiver.reset(socket);
      },
      { clock, deadlineMs },
    );
    expect(await send()).toMatchObject({ statusCode: 503, errorSummary });
    expect(requests()).toBe(times);
  });

  test("an attempt does not go out again once a byte of the answer has come", async () => {
    const { requests } = await failsLater((socket) => socket.end("HTTP/1.1 2"));
    expect(await send()).toMatchObject({ statusCode: 503, errorSummary: "connection closed without a response" });
    expect(requests()).toBe(2);
  });

  test("an attempt does not go out again after a timeout", async () => {
    const { requests } = await failsLater(() => {}, { deadlineMs: 2_000 });
    expect(await send()).toMatchObject({ errorSummary: "timed out after 2 s" });
    expect(requests()).toBe(2);
  });
});

test("a reset of a fresh connection is a failure, and not sent again", async () => {
  let requests = 0;
  receiver = await scriptedReceiver(tls, (socket) => {
    requests += 1;
    receiver.reset(socket);
  });
  sending = sender({ extraAuthorities });
  expect(await send()).toMatchObject({ statusCode: 503, errorSummary: "connection reset" });
  expect(requests).toBe(1);
});
