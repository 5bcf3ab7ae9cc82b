import { eventually } from "@herald/dev/harness/eventually";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { API_PREFIX } from "../../src/operations.ts";
import { create, settings } from "../support/endpoints.ts";
import { head, sendRaw } from "../support/raw-http.ts";
import { token } from "../support/tokens.ts";
import { useApi } from "../support/use-api.ts";

const api = useApi({ settings: { SIGN_IN_LINKS: "true" } });
const WEBHOOKS = `${API_PREFIX}/webhooks`;
let bearer: string;

beforeAll(async () => {
  bearer = `Authorization: Bearer ${await token({ organizationId: "own" })}`;
});

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

describe("versions", () => {
  test.each([
    "If-Match: *",
    'If-Match: "AAAAAAAAAAE="',
    "If-None-Match: *",
    "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT",
  ])("the header %s takes the place of no version, and forbids none", async (line) => {
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
      return (await sendRaw(api.origin, head(`PUT ${WEBHOOKS}/${endpoint.id} HTTP/1.1`, ...lines) + body))[0]?.status;
    };
    expect(await edit(null)).toBe(400);
    expect(await edit("AAAAAAAAAGM=")).toBe(409);
    expect(await edit(endpoint.version)).toBe(200);
  });
});
