import { headerContext, secretBox } from "@herald/common/security/secret-box";
import { beforeAll, expect, test } from "@jest/globals";
import { type Client, create, SECRET_KEYS, settings, useApi } from "../support/use-api.ts";

const api = useApi({ settings: { HEADER_PREFIX: "X-Acme" } });
let client: Client;

beforeAll(async () => {
  client = await api.as({ organizationId: "own" });
});

const VALUE = "Bearer VALUE-MARK";

/** The pointers and codes of what is wrong. No answer repeats a value. */
async function faultsOf(headers: unknown): Promise<string[]> {
  const { body, text } = await client.post("/webhooks", settings({ headers })).expect(400);
  expect(text).not.toContain("MARK");
  return body.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`);
}

test.each([
  // HTTP's own, of the connection, of the body, and of proxies.
  ..."Connection host CONTENT-LENGTH Content-Type Content-Encoding Content_Length Transfer-Encoding Transfer_Encoding TE Trailer Upgrade".split(
    " ",
  ),
  ..."HTTP2-Settings Keep-Alive Proxy-Authorization Proxy-Connection Expect Accept Accept-Encoding Date Max-Forwards".split(
    " ",
  ),
  ..."Via Forwarded X-Forwarded-For X-Real-IP X-HTTP-Method-Override".split(" "),
  // Herald's own.
  ..."X-Acme-Signature x-acme-anything X_Acme_Signature webhook-id Webhook-Signature X-Webhook-Token Herald-Organization".split(
    " ",
  ),
  ..."X-Herald-A User-Agent traceparent Tracestate".split(" "),
])("the header %s can't be an endpoint's own", async (name) => {
  expect(await faultsOf({ [name]: VALUE })).toEqual([`/headers/${name} reserved`]);
});

test.each<[string, unknown, string[]]>([
  ["no object", "MARK", ["/headers wrong_type"]],
  ["a list", ["MARK"], ["/headers wrong_type"]],
  ["a name without a character", { "": VALUE }, ["/headers/ malformed"]],
  ["a line break in a name", { "X-A\r\nX-B": VALUE }, ["/headers/X-A\r\nX-B malformed"]],
  ["a colon in a name", { "X-A:": VALUE }, ["/headers/X-A: malformed"]],
  ["a space in a name", { "X A": VALUE }, ["/headers/X A malformed"]],
  ["a slash in a name", { "X/A": VALUE }, ["/headers/X~1A malformed"]],
  ["a name that JavaScript knows", JSON.parse('{"__proto__": "MARK"}'), ["/headers/__proto__ malformed"]],
  ["another alphabet in a name", { "Х-A": VALUE }, ["/headers/Х-A malformed"]],
  ["NUL in a name", { "X\0": VALUE }, ["/headers/X\0 malformed"]],
  ["a name of 65 characters", { ["x".repeat(65)]: VALUE }, [`/headers/${"x".repeat(65)} malformed`]],
  ["no value", { "X-A": "" }, ["/headers/X-A blank"]],
  ["a line break in a value", { "X-A": "MARK\r\nX-B: MARK" }, ["/headers/X-A value_malformed"]],
  ["a line feed at the end of a value", { "X-A": "MARK\n" }, ["/headers/X-A value_malformed"]],
  ["NUL in a value", { "X-A": "MA\0RK" }, ["/headers/X-A value_malformed"]],
  ["a space before a value", { "X-A": " MARK" }, ["/headers/X-A value_malformed"]],
  ["a tab after a value", { "X-A": "MARK\t" }, ["/headers/X-A value_malformed"]],
  ["a letter outside ASCII", { "X-A": "MARK ü" }, ["/headers/X-A value_malformed"]],
  ["half of a surrogate pair", { "X-A": "MARK \ud800" }, ["/headers/X-A value_malformed"]],
  ["a value of 1,025 characters", { "X-A": "M".repeat(1_025) }, ["/headers/X-A too_long"]],
  ["a number as a value", { "X-A": 7 }, ["/headers/X-A wrong_type"]],
  ["a value to be kept by a new endpoint", { "X-A": null }, ["/headers/X-A wrong_type"]],
  ["six headers", Object.fromEntries([..."abcdef"].map((name) => [name, VALUE])), ["/headers too_many"]],
  ["a name in two cases", { "X-A": VALUE, "x-a": VALUE }, ["/headers/x-a repeated"]],
  ["a name with - and with _", { "X-A": VALUE, X_A: VALUE }, ["/headers/X_A repeated"]],
  ["more than 4 KiB", Object.fromEntries([..."abcd"].map((name) => [name, "M".repeat(1_024)])), ["/headers too_long"]],
])("%s is refused", async (_what, headers, faults) => {
  expect(await faultsOf(headers)).toEqual(faults);
});

test("64 KiB of a value are refused before they are read", async () => {
  await client.post("/webhooks", settings({ headers: { "X-A": "M".repeat(65_536) } })).expect(413);
});

test("values that look like secrets, names that JavaScript knows, and the largest headers are taken as they are", async () => {
  const values = ["Basic dXNlcjpwYXNz", "sk_live_0123456789", "a \t b", "~".repeat(1_024), "null"];
  const headers = JSON.parse(
    `{"valueOf": "", "constructor": "", "Authorization": "", "X-Api_Key": "", "1!#$%&'*+.^\`|~": ""}`,
  );
  const given = Object.fromEntries(Object.keys(headers).map((name, at) => [name, values[at]]));
  const { endpoint } = await create(client, { headers: given });
  const { body } = await client.get(`/webhooks/${endpoint.id}`).expect(200);
  expect(body.headerNames).toEqual(Object.keys(given).sort());
  expect(await openedOf(endpoint.id)).toEqual(given);
});

async function openedOf(id: string): Promise<Record<string, string> | null> {
  const { headers } = await api.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });
  const box = secretBox(SECRET_KEYS);
  const open = ([name, sealed]: [string, string]) => [name, box.open(sealed, headerContext(id, name))];
  return headers && Object.fromEntries(Object.entries(headers as Record<string, string>).map(open));
}

/** Edits an endpoint as it stands now. */
async function edit(id: string, changes: object) {
  const { name, url, enabled, events, version } = (await client.get(`/webhooks/${id}`).expect(200)).body;
  return await client.put(`/webhooks/${id}`, { name, url, enabled, events, version, ...changes });
}

test("an edit keeps all headers, or replaces, keeps, adds and removes single ones; answers have names alone, and SPEC's have none", async () => {
  const { endpoint } = await create(client, { headers: { Authorization: "Bearer 1 MARK", "X-Key": "2 MARK" } });
  const { id } = endpoint;
  const texts: string[] = [];
  const steps: [changes: object, headers: object | null][] = [
    [{ name: "Payroll" }, { Authorization: "Bearer 1 MARK", "X-Key": "2 MARK" }],
    [
      { headers: { Authorization: null, "X-Key": "3 MARK", "X-New": "4 MARK" } },
      { Authorization: "Bearer 1 MARK", "X-Key": "3 MARK", "X-New": "4 MARK" },
    ],
    [
      { headers: { "x-new": "5 MARK", "X-Key": null }, rotateSecret: true },
      { "X-Key": "3 MARK", "x-new": "5 MARK" },
    ],
    [{ url: "https://hooks.example.com/other?a=b" }, { "X-Key": "3 MARK", "x-new": "5 MARK" }],
    [{ headers: {} }, null],
    [{ headers: { "X-Key": "6 MARK" } }, { "X-Key": "6 MARK" }],
    [{ headers: null }, null],
  ];
  for (const [changes, headers] of steps) {
    const { status, body, text } = await edit(id, changes);
    expect([status, Object.keys(body.endpoint)]).toEqual([200, Object.keys(endpoint)]);
    expect(await openedOf(id)).toEqual(headers);
    const details = await client.get(`/webhooks/${id}`);
    expect(details.body.headerNames).toEqual(Object.keys(headers ?? {}).sort());
    texts.push(text, details.text, (await client.get("/webhooks")).text, (await client.get("/webhooks/overview")).text);
  }
  const { body, text } = await client.get(`/webhooks/${id}/changes`).expect(200);
  const [both, two, three] = [
    ["Authorization", "X-Key"],
    ["X-Key", "x-new"],
    ["Authorization", "X-Key", "X-New"],
  ];
  expect(body.changes.map(({ before, after }: { before: object; after: object }) => ({ before, after }))).toEqual([
    { before: { headerNames: ["X-Key"] }, after: {} },
    { before: {}, after: { headerNames: ["X-Key"], headerValues: ["X-Key"] } },
    { before: { headerNames: two }, after: {} },
    { before: { url: endpoint.url }, after: { url: "https://hooks.example.com/other?a=b" } },
    { before: { headerNames: three }, after: { headerNames: two, headerValues: ["x-new"] } },
    { before: { headerNames: both }, after: { headerNames: three, headerValues: ["X-Key", "X-New"] } },
    { before: { name: "Billing" }, after: { name: "Payroll" } },
    { before: null, after: expect.objectContaining({ headerNames: both, headerValues: both }) },
  ]);
  expect([...texts, text, ...api.logged].join("\n")).not.toContain("MARK");
});

test("a value that no header has can't be kept, nor any on another server, to which an admin who can't read it would have it sent", async () => {
  const { endpoint } = await create(client, { headers: { Authorization: VALUE } });
  const codesOf = async (changes: object) => {
    const { status, body } = await edit(endpoint.id, changes);
    return status === 200 ? [] : body.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`);
  };
  expect(await codesOf({ headers: { authorization: null } })).toEqual(["/headers/authorization missing"]);
  expect(await codesOf({ headers: { constructor: null } })).toEqual(["/headers/constructor missing"]);
  for (const url of ["https://elsewhere.example.com/", "https://hooks.example.com:8443/herald"]) {
    expect(await codesOf({ url })).toEqual(["/headers/Authorization value_needed"]);
    expect(await codesOf({ url, headers: { Authorization: null } })).toEqual(["/headers/Authorization value_needed"]);
  }
  expect(await openedOf(endpoint.id)).toEqual({ Authorization: VALUE });
  expect(await codesOf({ url: "https://elsewhere.example.com/", headers: { Authorization: "new" } })).toEqual([]);
  expect(await codesOf({ url: "https://third.example.com/", headers: {} })).toEqual([]);
  expect(await openedOf(endpoint.id)).toBe(null);
});

test("kept values count towards the 4 KiB", async () => {
  const large = "M".repeat(1_024);
  const { endpoint } = await create(client, { headers: { a: large, b: large, c: large } });
  const { status, body } = await edit(endpoint.id, { headers: { a: null, b: null, c: null, d: large } });
  expect([status, body.errors?.[0]]).toMatchObject([400, { pointer: "/headers", code: "too_long" }]);
  expect((await edit(endpoint.id, { headers: { a: null, b: null, c: null, d: "M" } })).status).toBe(200);
});
