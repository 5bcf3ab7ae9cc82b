import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import type { WebhookEndpointSummary } from "@herald/contracts";
import { useDatabase } from "@herald/dev/harness/use-database";
import { projectFolder } from "@herald/dev/stack/folders";
import {
  DEVELOPMENT_AUDIENCE,
  DEVELOPMENT_ISSUER,
  developmentToken,
  FULL_ACCESS,
} from "@herald/dev/start/development-token";
import { startManagementApi } from "@herald/management-api";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { callHerald } from "./run-herald.ts";

const AUTH_JWT_SECRET = "a secret for tests only, which signs nothing else";
const folder = mkdtempSync(join(tmpdir(), "herald-endpoints-"));
let api: Awaited<ReturnType<typeof startManagementApi>> | undefined;
let gateway: Server | undefined;
let gatewayUrl = "";
/** What happens to a request on its way; "cut" lets it through and loses the answer. */
let onTheWay: (request: string, idempotencyKey: unknown) => Promise<unknown> = async () => {};

// Before the database looks for connections that are left.
afterAll(async () => {
  gateway?.close();
  await api?.stop();
  rmSync(folder, { recursive: true });
});
const db = useDatabase();

beforeAll(async () => {
  api = await startManagementApi({
    HERALD_ENV: "development",
    DATABASE_URL: db.url,
    // Nothing listens there, and nothing here needs it.
    AMQP_URL: "amqp://127.0.0.1:1",
    HTTP_HOST: "127.0.0.1",
    PORT: "0",
    OPERATIONS_PORT: "0",
    LOG_LEVEL: "error",
    MAX_ENDPOINTS: "3",
    SECRET_SEALING_KEY: newSealingKeys("test").SECRET_SEALING_KEY,
    AUTH_JWT_SECRET,
    AUTH_ISSUER: DEVELOPMENT_ISSUER,
    AUTH_AUDIENCE: DEVELOPMENT_AUDIENCE,
  });
  const target = `http://127.0.0.1:${api.port}`;
  gateway = createServer(async (request, response) => {
    const { method = "", url = "" } = request;
    const body = await buffer(request);
    const fate = await onTheWay(`${method} ${url.split("operations")[1]}`, request.headers["idempotency-key"]);
    const answer = await fetch(`${target}${url}`, {
      method,
      headers: { ...(request.headers as Record<string, string>), connection: "close" },
      ...(body.length > 0 && { body }),
    });
    const text = await answer.text();
    if (fate === "cut") request.socket.destroy();
    else response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  });
  gateway.listen(0, "127.0.0.1");
  await once(gateway, "listening");
  gatewayUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
});

let token = "";
beforeEach(async () => {
  onTheWay = async () => {};
  token = await developmentToken(AUTH_JWT_SECRET, { organizationId: randomUUID(), ...FULL_ACCESS });
});

async function run(verb: string, content: unknown, ...args: string[]) {
  const file = join(folder, "endpoints.yaml");
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify({ endpoints: content }));
  return await callHerald(["endpoints", verb, "-f", file, "--url", gatewayUrl, ...args], { HERALD_TOKEN: token });
}

async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", connection: "close" };
  const url = `http://127.0.0.1:${api?.port}/api/organization/integration-operations${path}`;
  const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}
const list = () => call<WebhookEndpointSummary[]>("GET", "/webhooks");
const settings = async () => (await list()).map(({ name, url, enabled, events }) => ({ name, url, enabled, events }));

const billing = { name: "Billing", url: "https://hooks.example.com/billing", events: ["WorkItemCompleted"] };
const crm = { name: "CRM", url: "https://hooks.example.com/crm", events: ["RiskCreated"], enabled: false };
const on = { ...billing, enabled: true };
const moved = { ...billing, url: "https://hooks.example.com/v2", events: ["WorkItemCompleted", "RiskCreated"] };

test.each<[what: string, before: object[], file: object[], args: string[], printed: string[], after: object[]]>([
  [
    "creates",
    [],
    [billing, crm],
    [],
    [
      'create "Billing"',
      `  url: "${billing.url}"`,
      "  enabled: true",
      '  events: ["WorkItemCompleted"]',
      'create "CRM"',
      "  enabled: false",
    ],
    [on, crm],
  ],
  [
    "changes",
    [on, crm],
    [moved, { ...crm, enabled: true }],
    [],
    [
      'change "Billing" (ID)',
      `  url: "${billing.url}" -> "${moved.url}"`,
      '  events: ["WorkItemCompleted"] -> ["WorkItemCompleted","RiskCreated"]',
      'change "CRM" (ID)',
      "  enabled: false -> true",
    ],
    [
      { ...moved, enabled: true },
      { ...crm, enabled: true },
    ],
  ],
  [
    "leaves what it is not told to delete",
    [on, crm],
    [moved],
    [],
    ['change "Billing" (ID)'],
    [{ ...moved, enabled: true }, crm],
  ],
  ["deletes with --delete", [on, crm], [billing], ["--delete"], ['delete "CRM" (ID)'], [on]],
])(
  "herald endpoints apply %s, as plan says, and then there is nothing to do",
  async (_what, before, file, args, printed, after) => {
    for (const endpoint of before) await call("POST", "/webhooks", endpoint);
    const planned = await run("plan", file, ...args);
    const steps = printed.filter((line) => !line.startsWith(" ")).length;
    expect(planned.code).toBe(1);
    expect(planned.stderr).toContain(
      `herald endpoints: ${steps} change${steps > 1 ? "s" : ""} to make; apply makes them.`,
    );
    const lines = planned.stdout.replaceAll(/\([\da-f-]{36}\)/g, "(ID)").split("\n");
    for (const line of printed) expect(lines).toContain(line);
    expect(lines.filter((line) => /^\w/.test(line))).toHaveLength(steps);
    expect(await settings()).toEqual(before);

    const applied = await run("apply", file, ...args);
    expect([applied.code, applied.stderr]).toEqual([
      0,
      expect.stringContaining(`${steps} change${steps > 1 ? "s" : ""} made.`),
    ]);
    expect(await settings()).toEqual(after);
    const created = after.length - before.length;
    expect([...applied.stdout.matchAll(/^ {2}signing secret: [\w+/]{43}=$/gm)]).toHaveLength(Math.max(created, 0));

    const versions = (await list()).map(({ version }) => version);
    for (const verb of ["plan", "apply"]) expect(await run(verb, file, ...args)).toMatchObject({ code: 0, stdout: "" });
    expect((await list()).map(({ version }) => version)).toEqual(versions);
  },
);

test("the file in the documents is applied, and endpoints that it doesn't name are counted", async () => {
  await call("POST", "/webhooks", crm);
  const page = readFileSync(join(projectFolder(), "docs/api/README.md"), "utf8");
  const [, yaml = ""] = /```yaml\n(endpoints:[\s\S]*?)```/.exec(page) ?? [];
  const { code, stderr } = await run("apply", yaml);
  expect([code, stderr]).toEqual([0, expect.stringContaining("1 endpoint that the file doesn't name stays")]);
  expect((await settings()).map(({ name }) => name)).toEqual(["CRM", "Billing", "Archive"]);
});

test.each<[what: string, file: unknown, message: string]>([
  [
    "a URL and an event that the API refuses",
    [billing, { ...crm, url: "http://hooks.example.com/", events: ["RiskCreated", "Risk"] }],
    "endpoints[1].url: The URL starts with http://",
  ],
  ["an unknown event", [billing, { ...crm, events: ["RiskCreated", "Risk"] }], "endpoints[1].events[1]: "],
  ["an unknown key", [billing, { ...crm, rotateSecret: true }], "endpoints[1].rotateSecret is unknown"],
  ["no YAML", "endpoints: [", "endpoints.yaml: "],
])("a file with %s changes nothing, and the error has its place", async (_what, file, message) => {
  for (const verb of ["plan", "apply"]) {
    const { code, stdout, stderr } = await run(verb, file);
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining(message)]);
  }
  expect(await list()).toEqual([]);
});

test("a name that the organization has twice is refused", async () => {
  for (let count = 0; count < 2; count++) await call("POST", "/webhooks", on);
  const { code, stderr } = await run("apply", [crm, moved], "--delete");
  expect([code, stderr]).toEqual([1, expect.stringContaining("endpoints[1].name: the organization has more than one")]);
  expect(await settings()).toEqual([on, on]);
});

test("an endpoint that is changed between the reading and the change is left alone, and so is one that is to be deleted", async () => {
  await call("POST", "/webhooks", on);
  for (const [method, file] of [
    ["PUT", [moved]],
    ["DELETE", []],
  ] as const) {
    onTheWay = async (request) => {
      if (!request.startsWith(method)) return;
      const [{ id, version } = { id: "", version: "" }] = await list();
      await call("PUT", `/webhooks/${id}`, { ...on, url: `${billing.url}/${method}`, version });
    };
    const { code, stdout, stderr } = await run("apply", file, "--delete");
    expect([code, stdout, stderr]).toEqual([
      1,
      "",
      expect.stringContaining("changed since it was read. Run plan again."),
    ]);
    expect(await settings()).toEqual([{ ...on, url: `${billing.url}/${method}` }]);
  }
});

test("a create whose answer is lost is sent again with its key, and makes one endpoint", async () => {
  const keys: unknown[] = [];
  onTheWay = async (request, key) => (request === "POST /webhooks" && keys.push(key) === 1 ? "cut" : undefined);
  const { code, stdout } = await run("apply", [billing]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("signing secret: lost with an answer of the API")]);
  expect(keys).toEqual([expect.stringMatching(/^[\da-f-]{36}$/), keys[0]]);
  expect(await settings()).toEqual([on]);
});

test("an apply that is refused on its way says what it has made", async () => {
  const { code, stdout, stderr } = await run(
    "apply",
    ["1", "2", "3", "4"].map((name) => ({ ...billing, name })),
  );
  expect([code, stderr]).toEqual([1, expect.stringContaining('3 of 4 changes made. Then, to create "4": ')]);
  expect(stderr).toContain("The organization has 3 endpoints, which is as many as it may have.");
  expect(stdout.match(/signing secret: /g)).toHaveLength(3);
});

test("herald endpoints plan says what is wrong with its arguments and its token, and shows no token", async () => {
  const plan = (args: string[], HERALD_TOKEN = "do-not-show") =>
    callHerald(["endpoints", "plan", ...args], { HERALD_TOKEN });
  const file = join(folder, "endpoints.json");
  writeFileSync(file, '{"endpoints": []}');
  const outcomes = await Promise.all([
    plan(["--url", gatewayUrl]),
    plan(["-f", file]),
    plan(["-f", file, "--url", "ftp://127.0.0.1"]),
    plan(["-f", file, "--url", gatewayUrl], ""),
    plan(["-f", file, "--url", gatewayUrl], "do-not-show\nX: 1"),
    plan(["-f", `${file}.missing`, "--url", gatewayUrl]),
    plan(["-f", file, "--url", gatewayUrl]),
    plan(["-f", file, "--url", `${gatewayUrl}/base`]),
  ]);
  const told = [
    "-f takes",
    "--url takes",
    "--url takes",
    "HERALD_TOKEN",
    "HERALD_TOKEN",
    "can't be read",
    "answered with 401",
    "answered with 404",
  ];
  expect(outcomes.map(({ code }) => code)).toEqual([2, 2, 2, 78, 78, 1, 1, 1]);
  for (const [index, { stderr }] of outcomes.entries()) {
    expect(stderr).toContain(told[index]);
    expect(stderr).not.toContain("do-not-show");
  }
});
