import { Agent, type IncomingHttpHeaders, request as sendRequest } from "node:http";
import { idAt } from "@herald/testkit/harness/rows";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc, { type Arbitrary } from "fast-check";
import type { OpenApiDocument } from "../../../src/openapi/document.ts";
import { states, storeDelivery } from "../../support/deliveries.ts";
import { create } from "../../support/endpoints.ts";
import { responseValidator } from "../../support/response-validator.ts";
import { token } from "../../support/tokens.ts";
import { useApi } from "../../support/use-api.ts";
import { arbitraryOf, broken, junk } from "./schema-arbitrary.ts";

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 10_000);
const AT_ONCE = 25;
/** Set to repeat a run: a failure names it. */
const SEED = process.env.FUZZ_SEED === undefined ? {} : { seed: Number(process.env.FUZZ_SEED) };

// A dozen endpoints are enough to get in each other's way, and their overview stays small.
const api = useApi({ settings: { MAX_ENDPOINTS: "12" } });
const OWN = "organization-own";
const OTHER = "organization-other";
/** Each text of the other organization holds it. No answer may. */
const MARK = "PROPERTY-OF-THE-OTHER";

interface FuzzRequest {
  method: string;
  path: string;
  /** Raw text; undefined for none. */
  body: string | undefined;
  type: string;
  authorization: string | undefined;
  idempotencyKey: string | undefined;
}

/** Ids and versions that exist, or did; the list changes while the fuzzing goes on. */
const pool = {
  ids: [] as string[],
  deliveries: [] as string[],
  versions: [] as string[],
  keys: [] as string[],
  sought: [] as string[],
};
let document: OpenApiDocument;
let tokens: { own: string; viewer: string; expired: string };
let otherIds: string[];

beforeAll(async () => {
  document = (await (await fetch(`${api.origin}/openapi.json`)).json()) as OpenApiDocument;
  tokens = {
    own: await token({ organizationId: OWN }),
    viewer: await token({ organizationId: OWN, permissions: ["integrations.view"] }),
    expired: await token({ organizationId: OWN, expiresInS: -60 }),
  };
  const other = await api.as({ organizationId: OTHER });
  const url = `https://other.example.com/${MARK}`;
  const { endpoint } = await create(other, { name: MARK, url });
  const delivery = await storeDelivery(api.prisma, { id: endpoint.id, organizationId: OTHER }, states.failing);
  await api.prisma.delivery.update({
    where: { id: delivery },
    data: { body: JSON.stringify(MARK), errorSummary: MARK },
  });
  const [event] = await api.prisma.businessEvent.findMany({ where: { organizationId: OTHER } });
  if (event === undefined) throw new Error("The delivery has no event.");
  otherIds = [endpoint.id, delivery, event.key, event.id, event.entityId];

  const own = await api.as({ organizationId: OWN });
  for (let count = 0; count < 3; count++) {
    const { endpoint: mine } = await create(own, { enabled: count !== 1 });
    pool.ids.push(mine.id);
    pool.versions.push(mine.version);
    for (const row of Object.values(states)) {
      pool.deliveries.push(await storeDelivery(api.prisma, { id: mine.id, organizationId: OWN }, row));
    }
  }
  for (const { key, id, entityId } of await api.prisma.businessEvent.findMany({ where: { organizationId: OWN } })) {
    pool.keys.push(key);
    pool.sought.push(id, entityId);
  }
  pool.sought.push(...pool.deliveries, ...otherIds);
  pool.deliveries.push(idAt(new Date()));
});

/** Picks from a list that changes while the fuzzing goes on. */
const from = (list: () => string[]): Arbitrary<() => string> =>
  fc.nat().map((at) => () => list()[at % list().length] ?? "");
const segment: Arbitrary<() => string> = fc.oneof(
  { weight: 8, arbitrary: from(() => pool.ids) },
  { weight: 2, arbitrary: from(() => otherIds) },
  { weight: 2, arbitrary: from(() => pool.deliveries) },
  { weight: 2, arbitrary: from(() => pool.keys) },
  { weight: 1, arbitrary: fc.uuid().map((id) => () => id) },
  {
    weight: 1,
    arbitrary: fc
      .string({ unit: "binary" })
      .filter(isEncodable)
      .map((text) => () => encodeURIComponent(text)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("%00", "%ff", "..", "%2e%2e", "overview", "checks", "").map((text) => () => text),
  },
);

function isEncodable(text: string): boolean {
  try {
    return encodeURIComponent(text) !== "";
  } catch {
    return false;
  }
}

function requests(): Arbitrary<() => FuzzRequest> {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      // The schemas' files are not under the API's prefix, and read nothing.
      .filter(([, { servers }]) => servers === undefined)
      .map(([method, operation]) => ({ path, method, operation })),
  );
  const schemas = document.components.schemas;
  return fc.constantFrom(...operations).chain(({ path, method, operation }) => {
    const schema = operation.requestBody?.content["application/json"].schema;
    const valid = schema ? arbitraryOf(schema, schemas) : fc.constant(undefined);
    const body = schema
      ? fc.oneof(
          { weight: 5, arbitrary: valid },
          { weight: 3, arbitrary: broken(valid) },
          { weight: 1, arbitrary: junk },
        )
      : fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: junk });
    const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === "query");
    const query = fc.record(
      Object.fromEntries(
        parameters.map((parameter) => [
          String(parameter.name),
          fc.oneof(arbitraryOf(parameter.schema as never, schemas), junk),
        ]),
      ),
      { requiredKeys: [] },
    );
    return fc
      .record({
        segments: fc.array(segment, { minLength: 2, maxLength: 2 }),
        body,
        query,
        version: from(() => pool.versions),
        usesKnownVersion: fc.boolean(),
        parameter: fc.constantFrom("id", "eventId", "entityId", "deliveryId"),
        sought: from(() => pool.sought),
        seeks: fc.boolean(),
        method: fc.oneof(
          { weight: 19, arbitrary: fc.constant(method) },
          { weight: 1, arbitrary: fc.constantFrom("patch", "put", "delete", "head", "options", "post") },
        ),
        text: fc.oneof({ weight: 19, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.string() }),
        type: fc.oneof(
          { weight: 19, arbitrary: fc.constant("application/json") },
          { weight: 1, arbitrary: fc.constantFrom("text/plain", "application/json; charset=latin1", "a/b") },
        ),
        // Few, so that they come again: with the same request, and with others.
        idempotencyKey: fc.oneof(
          { weight: 9, arbitrary: fc.constant(undefined) },
          { weight: 1, arbitrary: fc.constantFrom("a", "b", "c", "", "d e", "x".repeat(256)) },
        ),
        credentials: fc.oneof(
          { weight: 18, arbitrary: fc.constant("own" as const) },
          { weight: 1, arbitrary: fc.constantFrom("viewer" as const, "expired" as const, undefined) },
        ),
      })
      .map((made) => () => {
        let at = 0;
        const filled = path.replace(/\{\w+\}/g, () => made.segments[at++]?.() ?? "");
        const value = made.body as { version?: unknown } | undefined;
        if (made.usesKnownVersion && typeof value?.version === "string") value.version = made.version();
        const takes = parameters.some(({ name }) => name === made.parameter);
        const query = made.seeks && takes ? { ...made.query, [made.parameter]: made.sought() } : made.query;
        return {
          method: made.method.toUpperCase(),
          path: filled + queryText(query),
          body: made.text ?? (value === undefined ? undefined : JSON.stringify(value)),
          type: made.type,
          authorization: made.credentials && `Bearer ${tokens[made.credentials]}`,
          idempotencyKey: made.idempotencyKey,
        };
      });
  });
}

function queryText(query: Record<string, unknown>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((each) => {
      const text = typeof each === "string" ? each : JSON.stringify(each);
      return `${name}=${isEncodable(text) ? encodeURIComponent(text) : "%FF"}`;
    }),
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

// fetch would take as much CPU as the API itself.
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

/** Sends a request as it is, and reads the whole answer. */
async function exchange(
  path: string,
  { method, body, type, authorization, idempotencyKey }: FuzzRequest,
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  return await new Promise((resolve, reject) => {
    const sentBody = ["GET", "HEAD"].includes(method) ? undefined : body;
    const headers = {
      ...(authorization && { authorization }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      ...(body !== undefined && { "content-type": type }),
      ...(sentBody !== undefined && { "content-length": Buffer.byteLength(sentBody) }),
    };
    const sent = sendRequest(api.origin + path, { agent, method, headers }, async (response) => {
      const chunks = await response.toArray();
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() });
    });
    sent.on("error", reject);
    sent.end(sentBody);
  });
}

const seen = new Map<number, number>();
afterAll(() => {
  agent.destroy();
  // A fuzzer whose requests are all refused shows nothing.
  if (REQUESTS < 1_000) return;
  for (const status of [200, 204, 400, 401, 403, 404, 405, 409, 415]) expect([...seen.keys()]).toContain(status);
  expect((seen.get(200) ?? 0) / REQUESTS).toBeGreaterThan(0.2);
});

test(`${REQUESTS} valid and broken requests get no 5xx, nothing beyond the OpenAPI document, and nothing of another organization`, async () => {
  const validate = responseValidator(document);
  const before = await otherRows();
  const base = document.servers[0]?.url ?? "";
  const send = async (make: () => FuzzRequest) => {
    const request = make();
    // As browsers and most clients do, dots in the path are resolved before the request is sent.
    const { pathname, search } = new URL(api.origin + base + request.path);
    const { status, headers, text } = await exchange(pathname + search, request);
    seen.set(status, (seen.get(status) ?? 0) + 1);
    const body = parsed(text);
    if (status >= 500) throw new Error(`${describe(request)}\nanswered ${status}: ${text}\n${api.logged.slice(-2)}`);
    if (text.includes(MARK) || otherIds.some((id) => text.includes(id))) {
      throw new Error(`${describe(request)}\nshowed what is another organization's: ${text}`);
    }
    validate({ method: request.method, path: pathname, status, headers, body, text });
    remember(body);
  };
  // Some are sent at once, so that they get in each other's way, as in production.
  const batch = fc.array(requests(), { minLength: AT_ONCE, maxLength: AT_ONCE });
  await fc.assert(
    fc.asyncProperty(batch, async (made) => {
      await Promise.all(made.map(send));
    }),
    { numRuns: REQUESTS / AT_ONCE, ...SEED, verbose: 0 },
  );
  expect(await otherRows()).toEqual(before);
}, 600_000);

/** Keeps the ids and versions of a response, so that later requests can use them. */
function remember(body: unknown): void {
  const found = [body, (body as { endpoint?: unknown } | null)?.endpoint].flat();
  for (const each of found as ({ id?: unknown; version?: unknown } | null | undefined)[]) {
    if (typeof each?.version !== "string" || typeof each.id !== "string") continue;
    if (!pool.ids.includes(each.id)) pool.ids.push(each.id);
    if (!pool.versions.includes(each.version)) pool.versions.push(each.version);
  }
  // The newest are most likely to exist still.
  pool.ids.splice(0, pool.ids.length - 20);
  pool.versions.splice(0, pool.versions.length - 20);
}

async function otherRows(): Promise<unknown> {
  return {
    endpoints: await api.prisma.webhookEndpoint.findMany({ where: { organizationId: OTHER } }),
    deliveries: await api.prisma.delivery.findMany({ where: { organizationId: OTHER } }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function describe({ authorization: _authorization, ...request }: FuzzRequest): string {
  return JSON.stringify(request);
}
