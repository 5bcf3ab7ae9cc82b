import { connect } from "node:net";
import { eventually } from "@herald/testkit/harness/eventually";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { API_PREFIX } from "../../src/operations.ts";
import { create, settings } from "../support/endpoints.ts";
import { token } from "../support/tokens.ts";
import { useApi } from "../support/use-api.ts";

const api = useApi({ settings: { SIGN_IN_LINKS: "true" } });
const MARK = "PROPERTY-OF-THE-OTHER";
let other: { id: string; version: string };
let bearer: string;

beforeAll(async () => {
  const { endpoint } = await create(await api.as({ organizationId: "other" }), { name: MARK });
  other = endpoint;
  bearer = `Authorization: Bearer ${await token({ organizationId: "own" })}`;
});

const webhooks = `${API_PREFIX}/webhooks`;
const head = (...lines: string[]) => [...lines, "Host: herald.test", "", ""].join("\r\n");
const chunked = '5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n';
const smuggled = `GET ${webhooks} HTTP/1.1\r\nHost: herald.test\r\n\r\n`;

describe("what two programs could read in two ways is refused, and the connection with it", () => {
  const post = (...headers: string[]) =>
    head(`POST ${webhooks} HTTP/1.1`, "Content-Type: application/json", ...headers);
  test.each<[string, string]>([
    ["a length and chunks", post("Content-Length: 6", "Transfer-Encoding: chunked") + chunked],
    ["chunks and a length", post("Transfer-Encoding: chunked", "Content-Length: 6") + chunked],
    ["two lengths", post("Content-Length: 2", "Content-Length: 60") + smuggled],
    ["two lengths in one", post("Content-Length: 2, 60") + smuggled],
    ["a length with a sign", post("Content-Length: +2") + smuggled],
    ["a length in hexadecimal", post("Content-Length: 0x2") + smuggled],
    ["a negative length", post("Content-Length: -1") + smuggled],
    ["a length beyond all numbers", post("Content-Length: 99999999999999999999") + smuggled],
    ["chunks by another name", post("Transfer-Encoding: xchunked") + chunked],
    ["chunks that aren't last", post("Transfer-Encoding: chunked, identity") + chunked],
    ["chunks after a control character", post("Transfer-Encoding: \u000bchunked") + chunked],
    ["a space before the colon", post("Transfer-Encoding : chunked") + chunked],
    ["a chunk beyond all numbers", `${post("Transfer-Encoding: chunked")}FFFFFFFFFFFFFFFFF\r\nx`],
    ["a chunk of a negative length", `${post("Transfer-Encoding: chunked")}-1\r\nx`],
    ["a header that goes on in the next line", head(`GET ${webhooks} HTTP/1.1`, "X-A: a\r\n Content-Length: 5")],
    ["a header without a name", head(`GET ${webhooks} HTTP/1.1`, ": value")],
    ["NUL in a header", head(`GET ${webhooks} HTTP/1.1`, "X-A: a\u0000b")],
    ["a line feed alone inside a header", head(`GET ${webhooks} HTTP/1.1`, "X-A: a\nX-B: b\rX-C: c")],
    ["NUL in the path", head(`GET ${webhooks}\u0000 HTTP/1.1`)],
    ["two spaces in the first line", head(`GET  ${webhooks}  HTTP/1.1`)],
    ["a version that isn't there", head(`GET ${webhooks} HTTP/3.7`)],
    ["a method that isn't there", head(`GETX ${webhooks} HTTP/1.1`)],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["no Host", `GET ${webhooks} HTTP/1.1\r\n\r\n`],
  ])("%s", async (_name, request) => {
    const answers = await send(request);
    expect(answers.every(({ status }) => status >= 400)).toBe(true);
    expect(answers.length).toBeLessThanOrEqual(1);
  });
});

describe("one request stays one", () => {
  test("a body that looks like a request isn't taken for one, though nobody reads it", async () => {
    const request =
      head(`POST ${webhooks} HTTP/1.1`, `Content-Length: ${smuggled.length}`, "Connection: close") + smuggled;
    expect((await send(request)).map(({ status }) => status)).toEqual([401]);
  });

  test("pipelined requests are answered in their order, each by its own credentials", async () => {
    const list = (...headers: string[]) => head(`GET ${webhooks} HTTP/1.1`, ...headers);
    const answers = await send(list(bearer) + list() + list(bearer, "Connection: close"));
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 200]);
  });

  test.each(["h2c", "websocket", "TLS/1.0"])("an upgrade to %s isn't made", async (protocol) => {
    const request = head(
      `GET ${webhooks} HTTP/1.1`,
      `Upgrade: ${protocol}`,
      "Connection: Upgrade, HTTP2-Settings, close",
    );
    expect((await send(request)).map(({ status }) => status)).not.toContain(101);
  });

  test("a tunnel isn't made", async () => {
    const answers = await send("CONNECT 127.0.0.1:5432 HTTP/1.1\r\nHost: 127.0.0.1:5432\r\n\r\n");
    expect(answers.filter(({ status }) => status < 400)).toEqual([]);
  });

  test.each(["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])("%s overrides nothing", async (name) => {
    const { endpoint } = await create(await api.as({ organizationId: "own" }));
    const body = JSON.stringify({ version: endpoint.version, _method: "DELETE" });
    const lines = [bearer, `${name}: DELETE`, "Content-Type: application/json", `Content-Length: ${body.length}`];
    const request = head(`POST ${webhooks}/${endpoint.id}?_method=DELETE HTTP/1.1`, ...lines, "Connection: close");
    expect((await send(request + body)).map(({ status }) => status)).toEqual([405]);
  });
});

describe("credentials", () => {
  test("several Authorization headers are refused, whichever of them is right", async () => {
    for (const lines of [
      [bearer, "Authorization: Bearer a.b.c"],
      ["Authorization: Bearer a.b.c", bearer],
      [bearer, bearer],
    ]) {
      const [answer] = await send(head(`GET ${webhooks} HTTP/1.1`, ...lines, "Connection: close"));
      expect([answer?.status, answer?.text]).toEqual([401, expect.stringContaining("several Authorization headers")]);
    }
  });

  test.each([
    ["a token of 64 KiB", 431, "a".repeat(65_536)],
    ["a token of 1 MiB", 431, "a".repeat(1024 * 1024)],
    ["a token of 12 KiB", 401, `${"a".repeat(12_000)}.b.c`],
  ])("%s is a %d", async (_name, status, text) => {
    const answers = await send(head(`GET ${webhooks} HTTP/1.1`, `Authorization: Bearer ${text}`, "Connection: close"));
    expect(answers.map((answer) => answer.status)).toEqual([status]);
  });

  test("a header wins over the cookie, right or wrong: it was put there on purpose", async () => {
    const cookie = `Cookie: herald_session=${await token({ organizationId: "other" })}`;
    const [own] = await send(head(`GET ${webhooks} HTTP/1.1`, bearer, cookie, "Connection: close"));
    expect([own?.status, own?.text.includes(MARK)]).toEqual([200, false]);
    const wrong = "Authorization: Bearer a.b.c";
    expect((await send(head(`GET ${webhooks} HTTP/1.1`, wrong, cookie, "Connection: close")))[0]?.status).toBe(401);
  });

  test.each([
    "null",
    "",
    "https://evil.example",
    "https://herald.test.evil.example",
    "https://evil.example/herald.test",
    "https://herald.test@evil.example",
    "https://herald.test:444",
    "https://evilherald.test",
    "file://",
    "https://herald.test, https://evil.example",
  ])("the cookie changes nothing for a page of origin %j", async (origin) => {
    const { endpoint } = await create(await api.as({ organizationId: "own" }));
    const body = JSON.stringify({ version: endpoint.version });
    const cookie = `Cookie: herald_session=${await token({ organizationId: "own" })}`;
    const lines = [cookie, `Origin: ${origin}`, "Content-Type: application/json", `Content-Length: ${body.length}`];
    const [answer] = await send(
      head(`DELETE ${webhooks}/${endpoint.id} HTTP/1.1`, ...lines, "Connection: close") + body,
    );
    expect([answer?.status, answer?.text]).toEqual([403, expect.stringContaining("origin_mismatch")]);
  });
});

describe("other sites", () => {
  test("are told of no right to read, whatever they ask for", async () => {
    for (const method of ["GET", "OPTIONS", "POST"]) {
      const response = await fetch(api.origin + webhooks, {
        method,
        headers: {
          origin: "https://evil.example",
          cookie: `herald_session=${await token()}`,
          "access-control-request-method": "DELETE",
          "access-control-request-headers": "authorization",
          "access-control-request-private-network": "true",
        },
      });
      expect([...response.headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    }
  });

  test("find the answer that holds a secret in no cache", async () => {
    const client = await api.as({ organizationId: "own" });
    const { headers, body } = await client.post("/webhooks", settings()).set("Accept-Encoding", "gzip, br");
    expect(body.signingSecret).toEqual(expect.any(String));
    expect(headers).toMatchObject({ "cache-control": "no-store", "cross-origin-resource-policy": "same-origin" });
    expect(headers).not.toHaveProperty("etag");
    // Secret and chosen text, compressed together, would tell of each other by their length.
    expect(headers).not.toHaveProperty("content-encoding");
  });
});

describe("§5 no path leads to another organization's endpoint", () => {
  const id = () => other.id;
  const paths: [string, () => string][] = [
    ["its own", () => `${webhooks}/${id()}`],
    ["upper case", () => `${webhooks}/${id().toUpperCase()}`],
    ["..;", () => `${webhooks}/..;/webhooks/${id()}`],
    ["dots, encoded", () => `${webhooks}/%2e%2e/webhooks/${id()}`],
    ["dots, encoded twice", () => `${webhooks}/%252e%252e/webhooks/${id()}`],
    ["a slash, encoded", () => `${webhooks}%2f${id()}`],
    ["a slash, encoded in the id", () => `${webhooks}/x%2f..%2f${id()}`],
    ["a trailing dot", () => `${webhooks}/${id()}.`],
    ["a trailing slash", () => `${webhooks}/${id()}/`],
    ["a trailing NUL", () => `${webhooks}/${id()}%00`],
    ["a line break", () => `${webhooks}/${id()}%0d%0aX-Injected:%201`],
    ["a parameter", () => `${webhooks}/${id()};organization=other`],
    ["a query", () => `${webhooks}?organization_id=other&organizationId=other&id=${id()}`],
    ["two slashes", () => `/${webhooks}//${id()}`],
    ["another case", () => `${webhooks.toUpperCase()}/${id()}`],
    ["a backslash", () => `${webhooks}\\${id()}`],
    ["full-width dots", () => `${webhooks}/%EF%BC%8E%EF%BC%8E/webhooks/${id()}`],
    ["broken encoding", () => `${webhooks}/${id()}%`],
    ["overlong encoding", () => `${webhooks}/%c0%ae%c0%ae/${id()}`],
    ["an absolute address", () => `http://herald.test${webhooks}/${id()}`],
    ["an absolute address of elsewhere", () => `http://127.0.0.1:9464${webhooks}/${id()}`],
    ["its deliveries", () => `${webhooks}/${id()}/deliveries`],
  ];
  test.each(paths)("%s", async (_name, path) => {
    const names = [
      "X-Organization-Id: other",
      "X-Original-URL: /",
      "X-Forwarded-Host: evil.example",
      "X-Rewrite-URL: /",
    ];
    const [answer] = await send(head(`GET ${path()} HTTP/1.1`, bearer, ...names, "Connection: close"));
    expect(answer?.text).not.toContain(MARK);
    expect(answer?.text.toLowerCase()).not.toMatch(/x-injected|evil\.example/);
    expect(answer?.status === 200 ? JSON.parse(answer.body) : []).not.toContainEqual(
      expect.objectContaining({ id: id() }),
    );
  });
});

describe("prototypes stay clean", () => {
  const pollution = '{"__proto__":{"polluted":1,"rotateSecret":true},"constructor":{"prototype":{"polluted":1}}}';

  test("of what a body holds", async () => {
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
  ])("of the query %s", async (query) => {
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

  test.each(HOSTILE)("by %j in any field of a request", async (text) => {
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

describe("versions", () => {
  test.each([
    "If-Match: *",
    'If-Match: "AAAAAAAAAAE="',
    "If-None-Match: *",
    "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT",
  ])("%s stands for no version, and against none", async (line) => {
    const { endpoint } = await create(await api.as({ organizationId: "own" }));
    const edit = async (version: string | null) => {
      const body = JSON.stringify(settings({ version }));
      const lines = [
        bearer,
        line,
        "Content-Type: application/json",
        `Content-Length: ${body.length}`,
        "Connection: close",
      ];
      return (await send(head(`PUT ${webhooks}/${endpoint.id} HTTP/1.1`, ...lines) + body))[0]?.status;
    };
    expect(await edit(null)).toBe(400);
    expect(await edit("AAAAAAAAAGM=")).toBe(409);
    expect(await edit(endpoint.version)).toBe(200);
  });
});

interface Answer {
  status: number;
  text: string;
  body: string;
}

/** Sends bytes as they are, and resolves with the answers that came until the server hung up, or nothing came for a while. */
function send(request: string): Promise<Answer[]> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(Number(new URL(api.origin).port), "127.0.0.1", () => socket.write(request, "latin1"));
    socket.setEncoding("latin1").on("data", (data: string) => {
      text += data;
    });
    // What is refused without a word, and what would keep the connection.
    socket.setTimeout(1_500, () => socket.destroy());
    socket.on("end", () => socket.end());
    socket.on("error", () => {});
    socket.on("close", () => {
      const parts = text.split(/(?=HTTP\/1\.1 \d{3} )/).filter((part) => part !== "");
      resolve(
        parts.map((part) => ({
          status: Number(part.slice(9, 12)),
          text: part,
          body: part.slice(part.indexOf("\r\n\r\n") + 4),
        })),
      );
    });
  });
}
