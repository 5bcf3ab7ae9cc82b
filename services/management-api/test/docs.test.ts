import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { DEFAULT_API_LIMITS, PROBLEMS, type ProblemCode, type ProblemKind } from "@herald/contracts";
import { eventSchemaFiles } from "@herald/contracts/schemas";
import { describe, expect, test } from "@jest/globals";
import { Validator } from "@seriousme/openapi-schema-validator";
import { openApiDocument } from "../src/openapi/document.ts";
import { published } from "../src/openapi/published.ts";
import { codesOf } from "../src/openapi/responses.ts";
import { responseValidator, type SeenResponse } from "./support/response-validator.ts";
import { settings, token, useApi } from "./support/use-api.ts";

const DOCS = fileURLToPath(new URL("../../../docs/api/", import.meta.url));
const SOURCES = fileURLToPath(new URL("../src/", import.meta.url));
const read = (name: string) => readFileSync(join(DOCS, name), "utf8");

const api = useApi({ settings: { MAX_ENDPOINTS: "1000" } });
const document = openApiDocument({ limits: DEFAULT_API_LIMITS, basePath: "", cookieName: "herald_session" });

test("the OpenAPI document is valid OpenAPI 3.1", async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(published(document)) as never);
  expect([valid, errors]).toEqual([true, undefined]);
  expect(validator.version).toBe("3.1");
});

test("the OpenAPI document is served", async () => {
  const served = await (await fetch(`${api.origin}/openapi.json`)).json();
  const limits = { ...DEFAULT_API_LIMITS, endpoints: 1_000 };
  const own = published(openApiDocument({ limits, basePath: "", cookieName: "herald_session" }));
  expect(served).toEqual(own);
});

test("the OpenAPI document has the limits of this service", () => {
  const limits = { nameCharacters: 10, urlCharacters: 100, payloadBytes: 1_000, endpoints: 1 };
  const text = JSON.stringify(openApiDocument({ limits, basePath: "/base", cookieName: "c" }));
  expect(text).toContain('"maxLength":10,');
  expect(text).toContain("at most 1000 bytes");
  expect(text).toContain('"/base/api/organization/integration-operations"');
});

test("the OpenAPI document names every problem that an operation may answer with, under its status", () => {
  for (const methods of Object.values(document.paths)) {
    for (const { responses } of Object.values(methods)) {
      for (const [status, response] of Object.entries(responses).filter(([status]) => Number(status) >= 400)) {
        for (const code of codesOf(response)) expect(String(PROBLEMS[code].status)).toBe(status);
      }
    }
  }
});

describe("the schemas of events", () => {
  const schema = (path: string) => fetch(`${api.origin}/schemas/${path}`);

  test.each(Object.entries(eventSchemaFiles()))("%s is served to anyone, as the package has it", async (path, text) => {
    const response = await schema(path);
    expect([response.status, await response.text()]).toEqual([200, text]);
    expect(response.headers.get("content-type")).toMatch(/^application\/schema\+json/);
    expect(response.headers.get("cache-control")).toBe("public, max-age=3600");
  });

  test.each([
    "events/Unknown.json",
    "events/riskcreated.json",
    "events/RiskCreated",
    "events/",
    "others/RiskCreated.json",
    "events/..%2f..%2fpackage.json",
  ])("there is no schema at %s", async (path) => {
    const response = await schema(path);
    expect([response.status, await response.json()]).toMatchObject([404, { code: "route_not_found" }]);
  });
});

describe("the catalogue", () => {
  const described = new Set(
    Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ responses }) => Object.values(responses).flatMap(codesOf)),
    ),
  );
  /** Where there is no operation, there is none to describe them. */
  const withoutOperation: ProblemCode[] = ["route_not_found", "method_not_allowed"];

  test.each(Object.entries(PROBLEMS) as [ProblemCode, ProblemKind][])(
    "%s is in OpenAPI, in the documentation, and thrown somewhere",
    (code, kind) => {
      if (!withoutOperation.includes(code)) expect(described).toContain(code);
      expect(read("errors.md")).toContain(`\n| \`${code}\` | ${kind.status} | ${kind.when} |`);
      const users = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts") && !file.includes("openapi"))
        .filter((file) => readFileSync(join(SOURCES, file), "utf8").includes(`"${code}"`));
      expect(users).not.toEqual([]);
    },
  );
});

test("§7/secrets a refusal repeats nothing of a URL that may be a password", async () => {
  const { text } = await (await api.as({}))
    .post("/webhooks", settings({ url: "https://me:hunter2@example.com/?key=s3cret#x" }))
    .expect(400);
  expect(text).not.toMatch(/hunter2|s3cret/);
});

test.each(["README.md", "authentication.md"])("every curl of %s works", async (name) => {
  const { error } = spawnSync("curl", ["--version"]);
  if (error)
    throw new Error(
      `The documentation's commands are tried with curl, which is not here: install it. ${error.message}`,
    );
  const blocks = [...read(name).matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(([, , block]) => block ?? "");
  const script = blocks.join("\n").replaceAll("http://127.0.0.1:8080", api.origin);
  expect(script.match(/\bcurl\b/g)?.length).toBeGreaterThan(1);
  const folder = mkdtempSync(join(tmpdir(), "herald-docs-"));
  try {
    // pnpm token, without a build and without its start.
    const prelude = `set -euo pipefail\nnpx() { echo '${await token({ organizationId: api.newOrganization() })}'; }\n`;
    await promisify(execFile)("bash", ["-c", prelude + script], { cwd: folder });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

describe("the validator of responses", () => {
  /** That right responses pass is a proof only if wrong ones do not. */
  const validate = responseValidator(
    openApiDocument({ limits: DEFAULT_API_LIMITS, basePath: "", cookieName: "herald_session" }),
  );
  const session = "/api/organization/integration-operations/session";
  const problem = {
    type: "urn:herald:problem:token-expired",
    title: "t",
    status: 401,
    code: "token_expired",
    detail: "d",
    requestId: "r",
  };
  const right: SeenResponse = {
    method: "GET",
    path: session,
    status: 401,
    headers: {
      "content-type": "application/problem+json; charset=utf-8",
      "x-request-id": "r",
      "www-authenticate": "Bearer",
    },
    body: problem,
    text: JSON.stringify(problem),
  };

  test("a response that the OpenAPI document describes passes the validator", () =>
    expect(() => validate(right)).not.toThrow());

  test.each<[string, Partial<SeenResponse>, RegExp]>([
    ["another status", { status: 418 }, /no such status/],
    ["another operation", { method: "POST" }, /no such operation/],
    ["another content type", { headers: { ...right.headers, "content-type": "application/json" } }, /content type/],
    ["a missing header", { headers: { ...right.headers, "www-authenticate": undefined } }, /www-authenticate/i],
    ["a missing field", { body: { ...problem, detail: undefined } }, /detail/],
    ["a field too many", { body: { ...problem, secret: "x" } }, /additional properties/],
    ["a code of another status", { body: { ...problem, code: "permission_missing" } }, /code/],
  ])("a response with %s doesn't pass the validator", (_name, change, why) => {
    expect(() => validate({ ...right, ...change })).toThrow(why);
  });
});
