import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type ApiServer, startServer } from "../src/http/server.ts";
import { API_PREFIX } from "../src/operations.ts";
import { head, sendRaw } from "./support/raw-http.ts";
import { create, settings, token, useApi } from "./support/use-api.ts";

const api = useApi({ settings: { MAX_ENDPOINTS: "20" } });

describe("bodies", () => {
  const post = async (type: string | undefined, body: string | Buffer) => {
    const client = await api.as({});
    const request = client.post("/webhooks");
    if (type !== undefined) request.set("Content-Type", type);
    // supertest sends a string unchanged.
    return await request.serialize((data) => data as string).send(body as string);
  };
  const valid = JSON.stringify(settings());

  test.each([
    "application/json",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
    "Application/JSON",
    "application/json; charset=utf8",
    "application/json;charset=UTF8",
    "application/json\t; charset=utf-8",
    "application/json;",
    "application/json; odata.metadata=none",
    'application/json; profile="a; charset=latin1"',
  ])("a body of type %s is read", async (type) => expect((await post(type, valid)).status).toBe(200));

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=utf-16",
    "application/json; charset=latin1",
    "application/json; charset=none",
    'application/json; charset="utf-8; charset=utf-16"',
    "application/json, text/plain",
    "json",
    "application/jsonp",
  ])("a body of type %s is a 415", async (type) => {
    const { status, body } = await post(type, valid);
    expect([status, body.code]).toEqual([415, "unsupported_media_type"]);
  });

  test("a compressed body is a 415", async () => {
    const client = await api.as({});
    const { status } = await client.post("/webhooks").set("Content-Encoding", "gzip").type("json").send(valid);
    expect(status).toBe(415);
  });

  test.each([
    ["", "The body is missing."],
    ["{", "at position 1 (line 1 column 2)"],
    ["{'a':1}", "at position 1 (line 1 column 2)"],
    ['{"a":1}}', "at position 7 (line 1 column 8)"],
    ['{\n "a": 1,\n}', "at position 11 (line 3 column 1)"],
    ["\ufeff{}", "it ends too early, or isn't JSON at all"],
    ["undefined", "it ends too early, or isn't JSON at all"],
    ['{"a":\u0000}', "it ends too early, or isn't JSON at all"],
  ])("the body %j is a 400, which says where the fault is", async (text, place) => {
    const { status, body } = await post("application/json", text);
    expect([status, body.code]).toEqual([400, "malformed_json"]);
    expect(body.detail).toContain(place);
  });

  test("broken UTF-8 is a 400, and isn't silently replaced", async () => {
    const bytes = Buffer.concat([
      Buffer.from(valid.slice(0, -1)),
      Buffer.from(',"x":"'),
      Buffer.of(0xff),
      Buffer.from('"}'),
    ]);
    const response = await fetch(`${api.origin}${API_PREFIX}/webhooks`, {
      method: "POST",
      headers: { Authorization: `Bearer ${await token()}`, "Content-Type": "application/json" },
      body: bytes,
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "malformed_json", detail: expect.stringContaining("UTF-8") });
  });

  test("a body that is too large is a 413, with a Content-Length and without", async () => {
    const client = await api.as({});
    const { body } = await client.post("/webhooks", { ...settings(), filler: "x".repeat(100_000) }).expect(413);
    expect(body.code).toBe("body_too_large");
    // Without a length in front, and without an end.
    const answer = await raw(
      api.origin,
      head(
        `POST ${API_PREFIX}/webhooks HTTP/1.1`,
        `Authorization: Bearer ${await token()}`,
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
      ) + `1000\r\n${" ".repeat(0x1000)}\r\n`.repeat(20),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toMatch(/connection: close/i);
  });

  test("a deeply nested body is a 400 like any other bad body", async () => {
    const client = await api.as({});
    const depth = 5_000;
    await client
      .post("/webhooks")
      .type("json")
      .send(`{"name":${"[".repeat(depth)}${"]".repeat(depth)}}`)
      .expect(400);
  });
});

describe("what isn't there", () => {
  test("an unknown path is a 404 problem", async () => {
    const client = await api.as({});
    expect((await client.get("/nothing").expect(404)).body.code).toBe("route_not_found");
    expect((await client.get("/%ff").expect(404)).body.code).toBe("route_not_found");
  });

  test.each([
    ["/webhooks", "DELETE", "GET, HEAD, POST"],
    ["/webhooks/overview", "PUT", "GET, HEAD"],
    ["/webhooks/checks", "GET", "POST"],
    ["/session", "POST", "GET, HEAD"],
    ["/webhooks/01a1f9bc-5e2f-7271-9bdf-796608ed68a3", "PATCH", "GET, HEAD, PUT, DELETE"],
    ["/webhooks", "OPTIONS", "GET, HEAD, POST"],
  ])("%s doesn't take %s: 405 with Allow", async (path, method, allowed) => {
    const response = await fetch(`${api.origin}${API_PREFIX}${path}`, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([405, allowed]);
  });

  const PUBLIC = ["/openapi.json", "/schemas/events/RiskCreated.json"];
  test.each(PUBLIC)("%s takes GET and HEAD alone", async (path) => {
    const response = await fetch(api.origin + path, { method: "POST" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await fetch(api.origin + path, { method: "HEAD" })).status).toBe(200);
  });

  test.each([
    ["/webhooks/", "/webhooks"],
    ["/event-types/?a=b", "/event-types?a=b"],
  ])("%s is sent on to the path without the slash at its end, also by a change", async (path, without) => {
    for (const method of ["GET", "PUT"]) {
      const response = await fetch(api.origin + API_PREFIX + path, { method, redirect: "manual" });
      expect([response.status, response.headers.get("location")]).toEqual([308, API_PREFIX + without]);
    }
  });

  test.each(["//evil.example/", "/\\evil.example/", "/%5Cevil.example/", "/%2Fevil.example/", "/a//b/"])(
    "%s is sent on to nowhere",
    async (path) => {
      const [answer] = await sendRaw(api.origin, head(`GET ${path} HTTP/1.1`, "Connection: close"));
      expect(answer?.status).toBe(404);
    },
  );

  test.each([
    `${API_PREFIX.toUpperCase()}/webhooks`,
    `${API_PREFIX.replace("/api", "/API")}/webhooks`,
    `${API_PREFIX}/Webhooks`,
    "/OpenAPI.json",
    "/Administration",
  ])("regression: the path %s is no other one's, since paths heed case", async (path) => {
    const headers = { Authorization: `Bearer ${await token()}` };
    expect((await fetch(api.origin + path, { headers, redirect: "manual" })).status).toBe(404);
  });

  test.each(["get", "post", "put", "delete"] as const)(
    "a query parameter that an operation doesn't know is a 400 that names it: %s",
    async (method) => {
      const client = await api.as({});
      const path = { get: "/webhooks", post: "/webhooks" }[method as string] ?? `/webhooks/${crypto.randomUUID()}`;
      const body = { ...settings(), version: method === "post" ? null : "AAAAAAAAAAE=" };
      const { body: problem } = await client[method](
        `${path}?evenType=x&a=1`,
        method === "get" ? undefined : body,
      ).expect(400);
      expect(problem.code).toBe("invalid_request");
      expect(problem.errors).toMatchObject([{ parameter: "evenType" }, { parameter: "a" }]);
    },
  );

  test("HEAD is GET without a body", async () => {
    const response = await fetch(`${api.origin}${API_PREFIX}/webhooks`, {
      method: "HEAD",
      headers: { Authorization: `Bearer ${await token()}` },
    });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });
});

test("the headers forbid caching, framing and sniffing, and don't name the software", async () => {
  const client = await api.as({});
  for (const response of [await client.get("/webhooks"), await client.get("/nothing")]) {
    expect(response.headers).toMatchObject({
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "cross-origin-resource-policy": "same-origin",
    });
    // Only if the public origin is https.
    expect(response.headers).not.toHaveProperty("strict-transport-security");
    expect(response.headers).not.toHaveProperty("x-powered-by");
    expect(response.headers).not.toHaveProperty("access-control-allow-origin");
  }
});

test("each response has an id, which its problem and the log share", async () => {
  const client = await api.as({});
  const response = await client.get("/nothing").expect(404);
  const id = response.headers["x-request-id"];
  expect(response.body.requestId).toBe(id);
  expect(api.logged.some((line) => line.includes(id ?? "no id"))).toBe(true);
});

test("§7/400 an organization gets no more endpoints than it may have, also when many are created at once", async () => {
  const client = await api.as({ organizationId: api.newOrganization() });
  for (let count = 0; count < 17; count++) await create(client);
  const responses = await Promise.all(Array.from({ length: 10 }, () => client.post("/webhooks", settings())));
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(3);
  const refused = responses.filter(({ status }) => status === 400);
  expect(refused).toHaveLength(7);
  expect(refused[0]?.body).toMatchObject({ code: "endpoint_limit_reached", detail: expect.stringContaining("20") });
  const [{ id, version }] = (await client.get("/webhooks")).body;
  await client.delete(`/webhooks/${id}`, { version }).expect(204);
  await create(client);
});

describe("broken and slow requests", () => {
  let server: ApiServer;
  let origin: string;
  beforeAll(async () => {
    server = await startServer((_request, response) => response.end("ok"), { host: "127.0.0.1", port: 0 });
    origin = `http://127.0.0.1:${server.port}`;
  });
  afterAll(async () => {
    server.end();
    await server.close();
  });

  test.each([
    ["a request that isn't HTTP", "this is not HTTP\r\n\r\n"],
    ["a method that isn't there", "FOO / HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a header without a colon", "GET / HTTP/1.1\r\nHost x\r\n\r\n"],
  ])("regression: %s is reported as a fault of HTTP, not of JSON", async (_title, request) => {
    const answer = await raw(origin, request);
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answer).toContain('"code":"malformed_http"');
    expect(answer).toMatch(/^X-Request-Id: [0-9a-f-]{36}\r$/m);
    expect(answer).toMatch(/^X-Content-Type-Options: nosniff\r$/m);
  });

  test("regression: an expectation that HTTP doesn't have is a 417 problem, and 100-continue is met", async () => {
    const expecting = (what: string) => raw(origin, head("GET / HTTP/1.1", `Expect: ${what}`, "Connection: close"));
    const answer = await expecting("nonsense");
    expect(answer).toMatch(/^HTTP\/1\.1 417 Expectation Failed\r\n/);
    expect(answer).toContain("application/problem+json");
    expect(answer).toContain('"code":"expectation_failed"');
    expect(await expecting("100-continue")).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
  });

  test("headers that don't end get a 408 problem", async () => {
    const place = { host: "127.0.0.1", port: 0, headersTimeoutMs: 100 };
    const impatient = await startServer((_request, response) => response.end("ok"), place);
    const answer = await raw(`http://127.0.0.1:${impatient.port}`, "GET / HTTP/1.1\r\nHost: x\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('"code":"request_timeout"');
    await impatient.close();
  });
});

test("a server that stops takes no more connections, and answers the requests under way", async () => {
  let answer: (() => void) | undefined;
  const server = await startServer(
    (_request, response) => {
      answer = () => response.end("done");
    },
    { host: "127.0.0.1", port: 0 },
  );
  const url = `http://127.0.0.1:${server.port}/`;
  const underWay = fetch(url);
  while (answer === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
  const closed = server.close();
  await expect(fetch(url)).rejects.toThrow();
  answer();
  expect(await (await underWay).text()).toBe("done");
  await closed;
});

/** Everything that the server sends for these bytes until it closes. */
const raw = async (origin: string, text: string) => (await sendRaw(origin, text)).map((answer) => answer.text).join("");
