import { createHmac } from "node:crypto";
import { eventually } from "@herald/dev/harness/eventually";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, expect, test } from "@jest/globals";
import type { AttemptRequest } from "../../src/http/sender.ts";
import { type ReceivedRequest, wellBehavedReceiver } from "./receivers.ts";
import {
  extraAuthorities,
  NOW,
  request,
  SECRET,
  sender,
  type TestSender,
  type TestSenderOptions,
  tls,
} from "./sending.ts";

let receiver: Awaited<ReturnType<typeof wellBehavedReceiver>>;
let sending: TestSender;

afterEach(async () => {
  await sending.close();
  await eventually(() => expect(receiver.open()).toBe(0));
  await receiver.close();
});

async function received(
  overrides: Partial<AttemptRequest> = {},
  options: TestSenderOptions = {},
): Promise<ReceivedRequest> {
  receiver = await wellBehavedReceiver(tls);
  sending = sender({ extraAuthorities, ...options });
  const result = await sending.send(
    request({ url: `https://receiver.test:${receiver.port}/hooks?tenant=42`, ...overrides }),
  );
  expect(result).toMatchObject({ statusCode: 200, succeeded: true });
  return receiver.requests[0] as ReceivedRequest;
}

async function answered(status: number, headers: Record<string, string> = {}, body = "") {
  receiver = await wellBehavedReceiver(tls, (_request, response) => response.writeHead(status, headers).end(body));
  sending = sender({ extraAuthorities });
  return sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));
}

test("§4.2/request §4.2/headers an attempt is a POST to the endpoint's URL, with each header once", async () => {
  const { method, url, rawHeaders, headers } = await received();
  expect(method).toBe("POST");
  expect(url).toBe("/hooks?tenant=42");
  expect(headers.host).toBe(`receiver.test:${receiver.port}`);
  expect(headers["content-type"]).toBe("application/json; charset=utf-8");
  expect(headers["x-service-event"]).toBe("WorkItemCompleted");
  expect(headers["x-service-delivery-id"]).toBe("0b9bdf2e-3b5e-4f6c-9f4e-0d5a3f0d6f11");
  expect(headers["user-agent"]).toBe("Herald");
  const names = rawHeaders.filter((_text, index) => index % 2 === 0).map((name) => name.toLowerCase());
  expect(new Set(names).size).toBe(names.length);
  expect(names).not.toContain("transfer-encoding");
  expect(names).not.toContain("accept-encoding");
  expect(names).not.toContain("traceparent");
});

test("§4.2/timestamp the timestamp header is the attempt's start, in whole seconds", async () => {
  const { headers } = await received();
  expect(headers["x-service-timestamp"]).toBe(String(Math.floor(NOW.getTime() / 1000)));
});

test.each([
  ['{"id":"1"}'],
  ['{ "a" : 1.0 ,\r\n\t"b":"\\u00e9" }\n'],
  ['{"name":"Zoë, 張偉, 🚀, \u2028"}'],
  ['"\ud83d\ude80"'],
  ["0"],
  [JSON.stringify({ data: "ü".repeat(120_000) })],
])(
  "§4.2/body §4.1.4 §4.3.3 the body %# is sent byte for byte as its UTF-8, and signed as it was sent",
  async (text) => {
    const { headers, body } = await received({ body: text });
    expect(body.equals(Buffer.from(text, "utf8"))).toBe(true);
    expect(headers["content-length"]).toBe(String(body.length));
    const timestamp = headers["x-service-timestamp"];
    const digest = createHmac("sha256", Buffer.from(SECRET, "utf8")).update(`${timestamp}.`).update(body).digest("hex");
    expect(headers["x-service-signature"]).toBe(`sha256=${digest}`);
  },
);

test("the Standard Webhooks headers can be left out, and the prefix is a setting", async () => {
  const options = { standardWebhooks: false, headerPrefix: "X-Acme" };
  const { rawHeaders } = await received({}, options);
  const names = rawHeaders.filter((_text, index) => index % 2 === 0);
  expect(names.filter((name) => /webhook|acme|service/i.test(name))).toEqual([
    "X-Acme-Signature",
    "X-Acme-Timestamp",
    "X-Acme-Event",
    "X-Acme-Delivery-Id",
  ]);
});

test("the request carries the trace context", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  expect((await received({ traceparent })).headers.traceparent).toBe(traceparent);
});

test("a request is not sent at all if a header could not be written", async () => {
  receiver = await wellBehavedReceiver(tls);
  sending = sender({ extraAuthorities });
  const url = `https://receiver.test:${receiver.port}/`;
  expect(await sending.send(request({ url, eventType: "A\r\nX-Evil: 1" }))).toMatchObject({
    statusCode: 503,
    errorSummary: "request failed (ERR_INVALID_CHAR)",
  });
  expect(receiver.accepted()).toBe(0);
});

test("the request uses no proxy that the environment names", async () => {
  const names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY", "NODE_USE_ENV_PROXY"];
  for (const name of names) process.env[name] = "http://127.0.0.1:9";
  try {
    await received();
  } finally {
    for (const name of names) delete process.env[name];
  }
});

test.each([200, 201, 202, 204, 205, 206, 226, 299])("§4.2/outcome %d is a success", async (status) => {
  expect(await answered(status)).toMatchObject({ statusCode: status, succeeded: true, errorSummary: null });
});

test.each([304, 400, 401, 404, 410, 413, 429, 500, 502, 503, 599, 600, 999])(
  "§4.2/outcome %d is a failure",
  async (status) => {
    expect(await answered(status)).toMatchObject({
      statusCode: status,
      succeeded: false,
      errorSummary: `receiver answered ${status}`,
    });
  },
);

test.each([300, 301, 302, 303, 307, 308])(
  "§2.1.4 %d is a failure, and the redirect is not followed",
  async (status) => {
    const elsewhere = await wellBehavedReceiver(tls);
    const location = `https://receiver.test:${elsewhere.port}/`;
    expect(await answered(status, { location })).toMatchObject({
      statusCode: status,
      succeeded: false,
      errorSummary: `receiver answered ${status}, redirects are not followed`,
    });
    expect(receiver.requests).toHaveLength(1);
    expect(elsewhere.accepted()).toBe(0);
    await elsewhere.close();
  },
);

// A duration by another clock would shift a retry's time, which is the end of the attempt and a delay.
test.each<[number, string | null, number | null, string | null]>([
  [429, "7", 7_000, "receiver answered 429, asks for a wait of 7 s"],
  [503, "Fri, 20 Nov 2026 12:00:30 GMT", 29_100, "receiver answered 503, asks for a wait of 30 s"],
  [503, "86400", 900_000, "receiver answered 503, asks for a wait of 900 s"],
  [503, "soon", null, "receiver answered 503"],
  [429, null, null, "receiver answered 429"],
  [413, "7", 7_000, "receiver answered 413, asks for a wait of 7 s"],
  [500, "90", 90_000, "receiver answered 500, asks for a wait of 90 s"],
  [502, "99999", 900_000, "receiver answered 502, asks for a wait of 900 s"],
  [504, "Fri, 20 Nov 2026 12:00:30 GMT", 29_100, "receiver answered 504, asks for a wait of 30 s"],
  [404, "7", null, "receiver answered 404"],
  [200, "7", null, null],
])(
  "%d with Retry-After %p asks for a wait of %p ms, and says: %p",
  async (status, header, retryAfterMs, errorSummary) => {
    const result = await answered(status, header === null ? {} : { "retry-after": header });
    const succeeded = status === 200;
    expect(result).toMatchObject({ statusCode: status, succeeded, errorSummary, retryAfterMs, reached: true });
  },
);

test.each<[number, string | undefined, string | undefined]>([
  [401, "Fri, 20 Nov 2026 12:04:30 GMT", "right"],
  [401, "Fri, 20 Nov 2026 12:10:00 GMT", "behind"],
  [400, "Fri, 20 Nov 2026 11:50:00 GMT", "ahead"],
  [400, "2026-11-20 11:50", undefined],
  [400, undefined, undefined],
  [200, "Fri, 20 Nov 2026 11:50:00 GMT", undefined],
  [500, "Fri, 20 Nov 2026 11:50:00 GMT", undefined],
])("by %d with the date %p, Herald's clock is %p", async (status, date, clockShown) => {
  receiver = await wellBehavedReceiver(tls, (_request, response) => {
    response.sendDate = false;
    response.writeHead(status, date === undefined ? {} : { date }).end();
  });
  sending = sender({ extraAuthorities });
  const result = await sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));
  expect(result.clockShown).toBe(clockShown);
});

test.each([
  ["EMFILE", "machine"],
  ["ENFILE", "machine"],
  ["ENOBUFS", "machine"],
  ["ENOMEM", "machine"],
  ["ERR_NAME_SERVERS_SILENT", "name servers"],
  ["ETIMEOUT", undefined],
  ["EADDRNOTAVAIL", undefined],
  ["ENETUNREACH", undefined],
])("a connection that fails with %s is the fault of Herald's own %s", async (code, ownFault) => {
  sending = sender({ resolve: () => Promise.reject(Object.assign(new Error(`connect ${code}`), { code })) });
  const result = await sending.send(request());
  expect(result).toMatchObject({ statusCode: 503, reached: false });
  expect(result.ownFault).toBe(ownFault);
});

test("an attempt's start and duration come from one clock, however long it really takes", async () => {
  const clock = steeredClock(NOW);
  let slow = false;
  receiver = await wellBehavedReceiver(tls, (_request, response) => {
    if (slow) clock.advance(2_500.4);
    setTimeout(() => response.end(), slow ? 0 : 30);
  });
  sending = sender({ extraAuthorities, clock });
  const send = () => sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));
  expect(await send()).toMatchObject({ startedAt: NOW, durationMs: 0 });
  slow = true;
  expect(await send()).toMatchObject({ startedAt: NOW, durationMs: 2_500 });
});

test("the excerpt is the first 1 KiB of the body, of failures and successes", async () => {
  expect(await answered(500, {}, "x".repeat(5_000))).toMatchObject({ responseExcerpt: "x".repeat(1024) });
});

test("own headers are sent beside Herald's, through no signature, and the excerpt hides what a receiver repeats of them", async () => {
  const ownHeaders = ["Authorization", "Bearer sk_live_0123456789", "X-Tenant", "7"];
  receiver = await wellBehavedReceiver(tls, ({ headers }, response) => {
    const { authorization, "x-tenant": tenant } = headers;
    response.writeHead(500).end(`${authorization} of ${tenant}; sk_live_0123456789${"x".repeat(5_000)}`);
  });
  sending = sender({ extraAuthorities });
  const url = `https://receiver.test:${receiver.port}/`;
  const { responseExcerpt } = await sending.send(request({ url, ownHeaders }));
  expect(responseExcerpt).toMatch(/^Bearer \*{3} of 7; \*{3}x+$/);
  expect(responseExcerpt).toHaveLength(1024);
  const { rawHeaders } = receiver.requests[0] as ReceivedRequest;
  expect(rawHeaders.join("\n")).toContain(ownHeaders.join("\n"));
});

test.each([401, 403])("of a %s no excerpt is kept if own headers were sent", async (status) => {
  receiver = await wellBehavedReceiver(tls, (_request, response) => void response.writeHead(status).end("no"));
  sending = sender({ extraAuthorities });
  const url = `https://receiver.test:${receiver.port}/`;
  expect(await sending.send(request({ url }))).toMatchObject({ responseExcerpt: "no" });
  expect(await sending.send(request({ url, ownHeaders: ["X-Key", "1"] }))).toMatchObject({ responseExcerpt: null });
});

test("the excerpt is null if the body is compressed, which the request does not ask for", async () => {
  expect(await answered(200, { "content-encoding": "gzip" }, "\x1f\x8b...")).toMatchObject({ responseExcerpt: null });
});
