import { beforeAll, describe, expect, test } from "@jest/globals";
import { API_PREFIX } from "../../src/operations.ts";
import { head, sendRaw } from "../support/raw-http.ts";
import { create, settings, token, useApi } from "../support/use-api.ts";

const api = useApi();
const WEBHOOKS = `${API_PREFIX}/webhooks`;
const MARK = "PROPERTY-OF-THE-OTHER";
let other: { id: string; version: string };
let bearer: string;

beforeAll(async () => {
  const { endpoint } = await create(await api.as({ organizationId: "other" }), { name: MARK });
  other = endpoint;
  bearer = `Authorization: Bearer ${await token({ organizationId: "own" })}`;
});

test("several Authorization headers are refused, whichever of them is right", async () => {
  for (const lines of [
    [bearer, "Authorization: Bearer a.b.c"],
    ["Authorization: Bearer a.b.c", bearer],
    [bearer, bearer],
  ]) {
    const [answer] = await sendRaw(api.origin, head(`GET ${WEBHOOKS} HTTP/1.1`, ...lines, "Connection: close"));
    expect([answer?.status, answer?.text]).toEqual([401, expect.stringContaining("several Authorization headers")]);
  }
});

test.each([
  ["a token of 64 KiB", 431, "a".repeat(65_536)],
  ["a token of 1 MiB", 431, "a".repeat(1024 * 1024)],
  ["a token of 12 KiB", 401, `${"a".repeat(12_000)}.b.c`],
])("%s is a %d", async (_name, status, text) => {
  const answers = await sendRaw(
    api.origin,
    head(`GET ${WEBHOOKS} HTTP/1.1`, `Authorization: Bearer ${text}`, "Connection: close"),
  );
  expect(answers.map((answer) => answer.status)).toEqual([status]);
});

test("regression: a request line beyond 16 KiB is answered as the OpenAPI document says", async () => {
  const client = await api.as({ organizationId: "own" });
  const { status, body } = await client.get(`/webhooks?name=${"x".repeat(20_000)}`);
  expect([status, body.code]).toEqual([431, "headers_too_large"]);
});

test("other sites get no header that lets them read an answer", async () => {
  for (const method of ["GET", "OPTIONS", "POST"]) {
    const response = await fetch(api.origin + WEBHOOKS, {
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

test("the answer that holds a secret is kept in no cache and isn't compressed", async () => {
  const client = await api.as({ organizationId: "own" });
  const { headers, body } = await client.post("/webhooks", settings()).set("Accept-Encoding", "gzip, br");
  expect(body.signingSecret).toEqual(expect.any(String));
  expect(headers).toMatchObject({ "cache-control": "no-store", "cross-origin-resource-policy": "same-origin" });
  expect(headers).not.toHaveProperty("etag");
  // Secret and chosen text, compressed together, would tell of each other by their length.
  expect(headers).not.toHaveProperty("content-encoding");
});

describe("§5 paths", () => {
  const id = () => other.id;
  const paths: [string, () => string][] = [
    ["its own", () => `${WEBHOOKS}/${id()}`],
    ["upper case", () => `${WEBHOOKS}/${id().toUpperCase()}`],
    ["..;", () => `${WEBHOOKS}/..;/webhooks/${id()}`],
    ["dots, encoded", () => `${WEBHOOKS}/%2e%2e/webhooks/${id()}`],
    ["dots, encoded twice", () => `${WEBHOOKS}/%252e%252e/webhooks/${id()}`],
    ["a slash, encoded", () => `${WEBHOOKS}%2f${id()}`],
    ["a slash, encoded in the id", () => `${WEBHOOKS}/x%2f..%2f${id()}`],
    ["a trailing dot", () => `${WEBHOOKS}/${id()}.`],
    ["a trailing slash", () => `${WEBHOOKS}/${id()}/`],
    ["a trailing NUL", () => `${WEBHOOKS}/${id()}%00`],
    ["a line break", () => `${WEBHOOKS}/${id()}%0d%0aX-Injected:%201`],
    ["a parameter", () => `${WEBHOOKS}/${id()};organization=other`],
    ["a query", () => `${WEBHOOKS}?organization_id=other&organizationId=other&id=${id()}`],
    ["two slashes", () => `/${WEBHOOKS}//${id()}`],
    ["another case", () => `${WEBHOOKS.toUpperCase()}/${id()}`],
    ["a backslash", () => `${WEBHOOKS}\\${id()}`],
    ["full-width dots", () => `${WEBHOOKS}/%EF%BC%8E%EF%BC%8E/webhooks/${id()}`],
    ["broken encoding", () => `${WEBHOOKS}/${id()}%`],
    ["overlong encoding", () => `${WEBHOOKS}/%c0%ae%c0%ae/${id()}`],
    ["an absolute address", () => `http://herald.test${WEBHOOKS}/${id()}`],
    ["an absolute address of elsewhere", () => `http://127.0.0.1:9464${WEBHOOKS}/${id()}`],
    ["its deliveries", () => `${WEBHOOKS}/${id()}/deliveries`],
  ];
  test.each(paths)("a path with %s doesn't lead to another organization's endpoint", async (_name, path) => {
    const names = [
      "X-Organization-Id: other",
      "X-Original-URL: /",
      "X-Forwarded-Host: evil.example",
      "X-Rewrite-URL: /",
    ];
    const [answer] = await sendRaw(api.origin, head(`GET ${path()} HTTP/1.1`, bearer, ...names, "Connection: close"));
    expect(answer?.text).not.toContain(MARK);
    expect(answer?.text.toLowerCase()).not.toMatch(/x-injected|evil\.example/);
    expect(answer?.status === 200 ? JSON.parse(answer.body) : []).not.toContainEqual(
      expect.objectContaining({ id: id() }),
    );
  });
});
