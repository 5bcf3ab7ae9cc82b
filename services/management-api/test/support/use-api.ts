import { types } from "node:util";
import type { PrismaClient } from "@herald/common/database/generated/client";
import { type Clock, machineClock } from "@herald/common/runtime/clock";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import type { Log, LogFields } from "@herald/common/telemetry/log";
import { createRegistry } from "@herald/common/telemetry/metrics";
import type { Tracing } from "@herald/common/telemetry/tracing";
import type { SaveWebhookRequest, SaveWebhookResponse } from "@herald/contracts";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, afterEach, beforeAll } from "@jest/globals";
import { SignJWT } from "jose";
import { agent, type Response, type Test } from "supertest";
import { createApp } from "../../src/app.ts";
import { limitsOf, type ManagementApiConfig, manualTimeoutMs, readManagementApiConfig } from "../../src/config.ts";
import type { TellOwner } from "../../src/endpoints/tell-owner.ts";
import { type ApiServer, startServer } from "../../src/http/server.ts";
import { openApiDocument } from "../../src/openapi/document.ts";
import { API_PREFIX } from "../../src/operations.ts";
import type { Parts } from "../../src/parts.ts";
import { responseValidator, type SeenResponse } from "./response-validator.ts";

export const JWT_SECRET = "a secret of the tests, of 32 characters at least";
export const ISSUER = "https://login.example.com";
export const AUDIENCE = "herald-tests";

/** Claims of a caller; by default it has every right. */
export interface TokenOptions {
  subject?: string;
  name?: unknown;
  organizationId?: string | null;
  permissions?: unknown;
  subscription?: unknown;
  modules?: unknown;
  entitlements?: unknown;
  expiresInS?: number;
  issuer?: string;
  audience?: string;
  secret?: string;
}

/** A token of the development kind, as a browser session or an API client would hold. */
export async function token(options: TokenOptions = {}): Promise<string> {
  const { organizationId = "organization-1", subject = "user-1", expiresInS = 3_600 } = options;
  const jwt = new SignJWT({
    ...(options.name !== undefined && { name: options.name }),
    ...(organizationId !== null && { organization_id: organizationId }),
    permissions: options.permissions ?? ["integrations.view", "integrations.manage"],
    subscription: options.subscription ?? "active",
    modules: options.modules ?? ["administration"],
    entitlements: options.entitlements ?? ["integrations"],
  })
    .setProtectedHeader({ alg: "HS256" })
    .setIssuer(options.issuer ?? ISSUER)
    .setAudience(options.audience ?? AUDIENCE)
    .setSubject(subject)
    .setExpirationTime(Math.floor(Date.now() / 1_000) + expiresInS);
  return await jwt.sign(Buffer.from(options.secret ?? JWT_SECRET));
}

export const { SECRET_KEYS, SECRET_SEALING_KEY } = newSealingKeys("tests");

/** The settings of an API without servers; a test adds where the keys of tokens are. */
export const environment = (settings: Record<string, string>) => ({
  HERALD_ENV: "development",
  DATABASE_URL: "postgres://127.0.0.1:1/none",
  AMQP_URL: "amqp://127.0.0.1:1",
  SECRET_SEALING_KEY,
  AUTH_ISSUER: ISSUER,
  AUTH_AUDIENCE: AUDIENCE,
  ...settings,
});

export interface ApiOptions {
  settings?: Record<string, string>;
  /** Where the built admin page is. */
  pageFolder?: string;
  clock?: Clock;
  /** How many processes of the API there are; one if absent. */
  processes?: () => number;
  tracing?: Tracing;
  /** Stands in for broker and dispatcher; without it no endpoint has an owner. */
  tellOwner?: TellOwner;
  /** How long manual deliveries wait for their first attempts. */
  manualWait?: Parts["manualWait"];
}

export interface Api {
  readonly prisma: PrismaClient;
  readonly databaseUrl: string;
  readonly config: ManagementApiConfig;
  /** `http://127.0.0.1:<port>`. */
  readonly origin: string;
  /** Everything that was logged so far, a JSON object a line. */
  readonly logged: string[];
  /** Sends requests as this caller; each response is held against the OpenAPI document. */
  as(caller: TokenOptions | string | null): Promise<Client>;
  /** A new organization, so that tests of a file don't see each other's endpoints. */
  newOrganization(): string;
}

export interface Client {
  get(path: string): Test;
  post(path: string, body?: unknown): Test;
  put(path: string, body?: unknown): Test;
  delete(path: string, body?: unknown): Test;
}

/** Signing secrets that any test of this file was given; none may appear in a log. */
export const secretsSeen = new Set<string>();

/**
 * Gives a test file the real app on a database of its own, over real HTTP. Each response is held against the OpenAPI document
 * of the app, and after each test the log is searched for secrets.
 */
export function useApi(options: ApiOptions = {}): Api {
  const database = useDatabase();
  const logged: string[] = [];
  let server: ApiServer;
  let origin: string;
  let config: ManagementApiConfig;
  let validate: (response: SeenResponse) => void;
  let failures: Error[] = [];
  let organizations = 0;

  beforeAll(async () => {
    const many = "1000000";
    const limits = { READS_PER_MINUTE: many, WRITES_PER_MINUTE: many, MANUAL_DELIVERIES_PER_MINUTE: many };
    const servers = { DATABASE_URL: database.url, AUTH_JWT_SECRET: JWT_SECRET };
    config = readManagementApiConfig(environment({ ...servers, ...limits, ...options.settings }));
    const app = createApp({
      config,
      database: database.database,
      tellOwner: options.tellOwner ?? (async () => false),
      manualWait: options.manualWait ?? { timeoutMs: manualTimeoutMs(config), signal: new AbortController().signal },
      clock: options.clock ?? machineClock,
      log: recordingLog(logged),
      registry: createRegistry("management-api"),
      tracing: options.tracing,
      processes: options.processes ?? (() => 1),
      pageFolder: options.pageFolder,
    });
    validate = responseValidator(
      openApiDocument({
        limits: limitsOf(config),
        basePath: config.BASE_PATH,
        cookieName: config.AUTH_COOKIE_NAME,
      }),
    );
    // The service's own server: what never reaches the app is answered by it.
    server = await startServer(app, { host: "127.0.0.1", port: 0 });
    origin = `http://127.0.0.1:${server.port}`;
  });

  afterEach(() => {
    const found = failures;
    failures = [];
    if (found[0]) throw found[0];
    assertNoSecrets(logged);
  });

  afterAll(async () => {
    server?.end();
    await server?.close();
  });

  function check(response: Response): void {
    try {
      validate(seen(response));
    } catch (error) {
      failures.push(error as Error);
    }
    if (response.status === 500)
      failures.push(new Error(`A response was a 500. The log: ${logged.slice(-5).join("\n")}`));
    const secret = (response.body as { signingSecret?: unknown } | null)?.signingSecret;
    if (typeof secret === "string") secretsSeen.add(secret);
  }

  return {
    get prisma() {
      return database.database.prisma;
    },
    get databaseUrl() {
      return database.url;
    },
    get config() {
      return config;
    },
    get origin() {
      return origin;
    },
    logged,
    newOrganization: () => `organization-of-test-${++organizations}`,
    async as(caller) {
      const credentials = typeof caller === "string" ? caller : caller && (await token(caller));
      const client = agent(origin);
      const prefix = config.BASE_PATH + API_PREFIX;
      const send = (test: Test, body?: unknown): Test => {
        if (credentials !== null) test.set("Authorization", `Bearer ${credentials}`);
        if (body !== undefined) test.send(body as object);
        return test.on("response", check);
      };
      return {
        get: (path) => send(client.get(prefix + path)),
        post: (path, body) => send(client.post(prefix + path), body),
        put: (path, body) => send(client.put(prefix + path), body),
        delete: (path, body) => send(client.delete(prefix + path), body),
      };
    },
  };
}

function seen(response: Response): SeenResponse {
  const { method, path } = (response as unknown as { req: { method: string; path: string } }).req;
  return {
    method,
    path: path.split("?")[0] ?? "",
    status: response.status,
    headers: response.headers,
    body: response.text ? response.body : undefined,
    text: response.text ?? "",
  };
}

function assertNoSecrets(logged: string[]): void {
  const text = logged.join("\n");
  for (const secret of [...secretsSeen, JWT_SECRET]) {
    if (text.includes(secret)) throw new Error(`The log holds the secret ${secret}.`);
  }
}

function recordingLog(lines: string[]): Log {
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      const shown = Object.entries(fields).map(([name, value]) => [
        name,
        // Errors of Node's own modules come from outside of jest's realm, where `instanceof Error` doesn't see them.
        types.isNativeError(value) ? `${value.stack} ${String(value.cause ?? "")}` : value,
      ]);
      lines.push(JSON.stringify({ level, message, ...Object.fromEntries(shown) }));
    };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error"), isDebug: true };
}

/** A valid body for POST; with a version, for PUT. */
export function settings(changes: Record<string, unknown> = {}): SaveWebhookRequest {
  return {
    name: "Billing",
    url: "https://hooks.example.com/herald",
    enabled: true,
    rotateSecret: false,
    events: ["WorkItemCompleted"],
    version: null,
    ...changes,
  } as SaveWebhookRequest;
}

export async function create(client: Client, changes: Record<string, unknown> = {}): Promise<SaveWebhookResponse> {
  const response = await client.post("/webhooks", settings(changes)).expect(200);
  return response.body as SaveWebhookResponse;
}

/** All parts of a list, whose path has a query. */
export async function partsOf<Page extends { nextCursor: string | null }>(
  client: Client,
  path: string,
): Promise<Page[]> {
  const pages: Page[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { body }: { body: Page } = await client.get(path + (cursor && `&cursor=${cursor}`)).expect(200);
    pages.push(body);
    cursor = body.nextCursor;
  }
  return pages;
}

/** Edits an endpoint, whose other settings are those of {@link settings}. */
export async function edit(
  client: Client,
  { id, version }: { id: string; version: string },
  changes: Record<string, unknown> = {},
): Promise<SaveWebhookResponse> {
  return (await client.put(`/webhooks/${id}`, settings({ ...changes, version })).expect(200)).body;
}
