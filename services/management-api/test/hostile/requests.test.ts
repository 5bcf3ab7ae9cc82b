import { eventually } from "@herald/dev/harness/eventually";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { API_PREFIX } from "../../src/operations.ts";
import { head, sendRaw } from "../support/raw-http.ts";
import { create, settings, token, useApi } from "../support/use-api.ts";

const api = useApi();
const WEBHOOKS = `${API_PREFIX}/webhooks`;
let bearer: string;

beforeAll(async () => {
  bearer = `Authorization: Bearer ${await token({ organizationId: "own" })}`;
});

const chunked = '5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n';
const smuggled = `GET ${WEBHOOKS} HTTP/1.1\r\nHost: herald.test\r\n\r\n`;

describe("requests that two programs could read in two ways", () => {
  const post = (...headers: string[]) =>
    head(`POST ${WEBHOOKS} HTTP/1.1`, "Content-Type: application/json", ...headers);
  test.each<[string, string]>([
    ["a length and chunks", post("Content-Length: 6", "Transfer-Encoding: chunked") + chunked],
    ["two lengths", post("Content-Length: 2", "Content-Length: 60") + smuggled],
    ["a length beyond all numbers", post("Content-Length: 99999999999999999999") + smuggled],
    ["chunks by another name", post("Transfer-Encoding: xchunked") + chunked],
    ["a space before the colon", post("Transfer-Encoding : chunked") + chunked],
    ["a chunk beyond all numbers", `${post("Transfer-Encoding: chunked")}FFFFFFFFFFFFFFFFF\r\nx`],
    ["a header that goes on in the next line", head(`GET ${WEBHOOKS} HTTP/1.1`, "X-A: a\r\n Content-Length: 5")],
    ["NUL in a header", head(`GET ${WEBHOOKS} HTTP/1.1`, "X-A: a\u0000b")],
    ["a version that isn't there", head(`GET ${WEBHOOKS} HTTP/3.7`)],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["no Host", `GET ${WEBHOOKS} HTTP/1.1\r\n\r\n`],
  ])("a request with %s is refused, and its connection ends", async (_name, request) => {
    const answers = await sendRaw(api.origin, request);
    expect(answers.every(({ status }) => status >= 400)).toBe(true);
    expect(answers.length).toBeLessThanOrEqual(1);
  });
});

test.each(["other.test", "herald.test"])(
  "a request with a second Host, %s, is refused, whatever its path and token",
  async (second) => {
    for (const path of [WEBHOOKS, "/openapi.json"]) {
      const answers = await sendRaw(api.origin, head(`GET ${path} HTTP/1.1`, bearer, `Host: ${second}`));
      expect(answers.map(({ status }) => status)).toEqual([400]);
    }
  },
);

test("a body that looks like a request isn't taken for one, even if the body isn't read", async () => {
  const request =
    head(`POST ${WEBHOOKS} HTTP/1.1`, `Content-Length: ${smuggled.length}`, "Connection: close") + smuggled;
  expect((await sendRaw(api.origin, request)).map(({ status }) => status)).toEqual([401]);
});

test("pipelined requests are answered in their order, each by its own credentials", async () => {
  const list = (...headers: string[]) => head(`GET ${WEBHOOKS} HTTP/1.1`, ...headers);
  const answers = await sendRaw(api.origin, list(bearer) + list() + list(bearer, "Connection: close"));
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 200]);
});

test.each(["h2c", "websocket", "TLS/1.0"])("an upgrade to %s isn't made", async (protocol) => {
  const request = head(
    `GET ${WEBHOOKS} HTTP/1.1`,
    `Upgrade: ${protocol}`,
    "Connection: Upgrade, HTTP2-Settings, close",
  );
  expect((await sendRaw(api.origin, request)).map(({ status }) => status)).not.toContain(101);
});

test("a tunnel isn't made", async () => {
  const answers = await sendRaw(api.origin, "CONNECT 127.0.0.1:5432 HTTP/1.1\r\nHost: 127.0.0.1:5432\r\n\r\n");
  expect(answers.filter(({ status }) => status < 400)).toEqual([]);
});

test.each(["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])(
  "the header %s doesn't override the method",
  async (name) => {
    const { endpoint } = await create(await api.as({ organizationId: "own" }));
    const body = JSON.stringify({ version: endpoint.version, _method: "DELETE" });
    const lines = [bearer, `${name}: DELETE`, "Content-Type: application/json", `Content-Length: ${body.length}`];
    const request = head(`POST ${WEBHOOKS}/${endpoint.id}?_method=DELETE HTTP/1.1`, ...lines, "Connection: close");
    expect((await sendRaw(api.origin, request + body)).map(({ status }) => status)).toEqual([405]);
  },
);

describe("prototypes stay clean", () => {
  const pollution = '{"__proto__":{"polluted":1,"rotateSecret":true},"constructor":{"prototype":{"polluted":1}}}';

  test("a body with __proto__ and constructor changes no prototype, and its prototype's fields don't count", async () => {
    const client = await api.as({ organizationId: "own" });
    const fields = JSON.stringify(settings());
    const texts = [
      pollution,
      `${fields.slice(0, -1)},"__proto__":{"polluted":1,"rotateSecret":true,"enabled":false}}`,
      `{"__proto__":${fields}}`,
      `{"constructor":{"prototype":${fields}}}`,
      `${fields.slice(0, -1)},"events":{"__proto__":["WorkItemCompleted"],"length":1}}`,
    ];
    const statuses = [];
    for (const text of texts) statuses.push((await client.post("/webhooks").type("json").send(text)).status);
    // Fields of a prototype are no fields of the body.
    expect(statuses).toEqual([400, 200, 400, 400, 400]);
    expectClean();
    const { endpoint } = await create(client);
    const { version } = endpoint;
    const { rotateSecret: _left, ...withoutRotation } = settings({ version });
    const edited = await client.put(`/webhooks/${endpoint.id}`, withoutRotation).expect(200);
    // The default is still false: no secret was replaced.
    expect(edited.body.signingSecret).toBeNull();
  });

  test.each([
    "__proto__[polluted]=1",
    "__proto__.polluted=1",
    "constructor[prototype][polluted]=1",
    "constructor.prototype.polluted=1",
    "limit[__proto__][polluted]=1",
    "__proto__=1&constructor=2&toString=3&hasOwnProperty=4",
    "limit=1&limit=2&limit=3",
    "outcome[]=failing&outcome[__proto__]=x",
  ])("the query %s changes no prototype", async (query) => {
    const client = await api.as({ organizationId: "own" });
    const { endpoint } = await create(client);
    const { status } = await client.get(`/webhooks/${endpoint.id}/deliveries?${query}`);
    expect([200, 400]).toContain(status);
    expectClean();
  });

  function expectClean(): void {
    const empty: Record<string, unknown> = {};
    expect(empty.polluted).toBeUndefined();
    expect(empty.rotateSecret).toBeUndefined();
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(Object.keys(Array.prototype)).toEqual([]);
  }
});

describe("headers and logs can't be written into", () => {
  const HOSTILE = [
    'x\r\nSet-Cookie: herald_session=evil\r\n\r\n{"level":"error","message":"forged"}',
    "x\u001b[2J\u009b31m\u0085",
    '","level":"error","message":"forged',
    "x\u2028y\u202ez",
  ];

  test.each(HOSTILE)("%j in any field of a request gets into no header and forges no log line", async (text) => {
    const client = await api.as({ organizationId: "own" });
    const { endpoint } = await create(client);
    const before = api.logged.length;
    const responses = [
      await client.post("/webhooks", settings({ name: text })),
      await client.post("/webhooks", settings({ url: `https://example.com/${text}` })),
      await client.post("/webhooks", settings({ events: [text] })),
      await client.put(`/webhooks/${endpoint.id}`, settings({ version: text })),
      await client.post(`/webhooks/${endpoint.id}/deliver`, { eventType: text, payloadJson: text }),
      await client.get(`/webhooks/${encodeURIComponent(text)}`),
      await client.get(`/webhooks/${endpoint.id}/deliveries?cursor=${encodeURIComponent(text)}`),
      await client.get("/webhooks").set("User-Agent", encodeURIComponent(text)).set("X-Request-Id", "forged"),
    ];
    for (const { headers, status } of responses) {
      expect(status).toBeLessThan(500);
      expect(headers).not.toHaveProperty("set-cookie");
      expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    }
    await eventually(() => expect(api.logged.length).toBeGreaterThanOrEqual(before + responses.length));
    for (const line of api.logged.slice(before)) {
      expect(line).not.toContain("\n");
      expect(JSON.parse(line)).toMatchObject({ message: "request" });
      expect(line).not.toMatch(/forged|Set-Cookie/);
    }
  });
});
