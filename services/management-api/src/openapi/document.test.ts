import { addressRules } from "@herald/common/security/address-guard";
import { attemptHeaders } from "@herald/common/security/attempt-headers";
import { DEFAULT_API_LIMITS, DEFAULT_CATALOGUE, EVENT_TYPES, type EventPayload, PROBLEMS } from "@herald/contracts";
import type { Schema } from "@herald/contracts/schemas";
import { describe, expect, test } from "@jest/globals";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import fc from "fast-check";
import { eventTypesOf, headerParameters } from "../events/event-requests.ts";
import { apiFormats } from "../validation/formats.ts";
import { cursorOf, versionOf } from "../validation/opaque.ts";
import { FORMAT_PATTERNS } from "./component-schemas.ts";
import { openApiDocument } from "./document.ts";
import { openList, published } from "./published.ts";

const document = openApiDocument({ limits: DEFAULT_API_LIMITS, basePath: "", cookieName: "herald_session" });
const described = Object.values(document.paths).flatMap((methods) => Object.values(methods));
const byId = new Map(described.map((operation) => [operation.operationId as string, operation]));

const ajv = new Ajv2020({ allErrors: true, strict: false });
ajvFormats.default(ajv);
const formats = apiFormats(DEFAULT_API_LIMITS, addressRules({}), "X-Service");
for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, (text) => format(text) === null);
ajv.addSchema({ $id: "document", components: document.components });

const compiled = new Map<string, ValidateFunction>();

function problemsOf(schema: Schema, value: unknown): string | null {
  const text = JSON.stringify(schema).replaceAll('"#/', '"document#/');
  const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
  compiled.set(text, validate);
  return validate(value) ? null : ajv.errorsText(validate.errors);
}

describe("examples in the OpenAPI document", () => {
  const examples: [name: string, schema: Schema, example: unknown][] = [];
  JSON.stringify(document, (name, value: Schema | null) => {
    for (const example of Array.isArray(value?.examples) ? value.examples : []) {
      examples.push([`${name} ${JSON.stringify(example)}`, value as Schema, example]);
    }
    return value;
  });

  test("every kind of text that Herald has a format of its own for has an example", () => {
    const formats = new Set(examples.map(([, { format }]) => format));
    for (const format of Object.keys(FORMAT_PATTERNS)) expect(formats).toContain(format);
  });

  test.each(examples)("the example %s is what its schema says", (_name, schema, example) => {
    expect(problemsOf(schema, example)).toBeNull();
  });

  test("the example of each event is what receivers get", () => {
    for (const { post } of Object.values(document.webhooks)) {
      const { content } = post.requestBody as { content: Record<string, { schema: Schema; example: unknown }> };
      const { schema, example } = content["application/json"] as { schema: Schema; example: unknown };
      expect(problemsOf(schema, example)).toBeNull();
      expect(problemsOf(schema, { ...(example as object), type: "Another" })).not.toBeNull();
    }
  });
});

describe("formats of Herald's own", () => {
  const texts: Record<string, fc.Arbitrary<string>> = {
    "endpoint-version": fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(versionOf),
    cursor: fc.uuid().map(cursorOf),
    "webhook-name": fc.constantFrom("Billing", " 財務 ", "-"),
    "header-name": fc.constantFrom("Authorization", "x_key"),
    "header-value": fc.constantFrom("Basic QTpC", "a\t b", "~"),
    "json-text": fc.json().map((text) => ` ${text}\n`),
    "webhook-url": fc.constantFrom("https://example.com", "HTTPS://example.com/a?b", "hTTps://[2606:4700::1111]:8443/"),
  };

  test.each(Object.entries(FORMAT_PATTERNS))("every text of the format %s has its pattern", (name, pattern) => {
    fc.assert(
      fc.property(texts[name] as fc.Arbitrary<string>, (text) => {
        expect(formats[name]?.(text)).toBeNull();
        expect(text).toMatch(new RegExp(pattern, "u"));
      }),
    );
  });

  test("a text without the pattern of its format isn't of the format", () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(texts)), fc.string(), (name, text) => {
        if (!new RegExp(FORMAT_PATTERNS[name] ?? "", "u").test(text)) expect(formats[name]?.(text)).not.toBeNull();
      }),
    );
  });

  test("the OpenAPI document has the pattern wherever it has the format", () => {
    const seen = new Set<string>();
    JSON.stringify(document, (_name, value) => {
      const { format, pattern } = (value ?? {}) as { format?: unknown; pattern?: unknown };
      if (typeof format === "string" && format in FORMAT_PATTERNS) {
        expect([format, pattern]).toEqual([format, FORMAT_PATTERNS[format]]);
        seen.add(format);
      }
      return value;
    });
    expect([...seen].sort()).toEqual(Object.keys(FORMAT_PATTERNS).sort());
  });
});

test.each(described)("$operationId has a summary, a description and a tag", ({ summary, description, tags }) => {
  // A summary is a heading, a description one or more sentences that say more.
  expect(summary).toMatch(/^[A-Z][^.]*$/);
  expect(description).toMatch(/^[A-Z`].*\.$/s);
  expect(description).not.toContain(summary);
  expect(tags).toHaveLength(1);
});

test("every tag of an operation is one that the document describes", () => {
  const names = document.tags.map(({ name }) => name);
  const used = new Set(
    [...described, ...Object.values(document.webhooks).map(({ post }) => post)].flatMap(({ tags }) => tags),
  );
  expect([...used].sort()).toEqual([...names].sort());
});

test("an operation names the permissions that its caller needs, for either way to authenticate", () => {
  const VIEW = "integrations.view";
  const both = (permissions: string[]) => [{ bearer: permissions }, { session: permissions }];
  expect(byId.get("listWebhooks")?.security).toEqual(both([VIEW]));
  expect(byId.get("deleteWebhook")?.security).toEqual(both([VIEW, "integrations.manage"]));
  expect(byId.get("readSession")?.security).toEqual(both([]));
});

test("every operation describes what other methods of its path, and a bad expectation, are answered with", () => {
  for (const { responses } of described) {
    expect(responses[405]?.headers?.Allow?.required).toBe(true);
    expect(responses[417]).toBeDefined();
  }
});

test("the body of a check may hold anything, since the answer says what is wrong with it", () => {
  const schema = document.components.schemas.CheckWebhookRequest as Schema;
  expect(problemsOf(schema, { name: 7, events: [], url: null })).toBeNull();
  expect(problemsOf(schema, [])).not.toBeNull();
});

test("no schema of the OpenAPI document is left over", () => {
  const text = JSON.stringify(document);
  for (const name of Object.keys(document.components.schemas)) {
    expect([name, text.includes(`"#/components/schemas/${name}"`)]).toEqual([name, true]);
  }
});

describe("the OpenAPI document as it is published", () => {
  const short = published(document);

  /** With what its references to shared parts mean in their places. References to schemas stay. */
  function resolved(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolved);
    if (typeof value !== "object" || value === null) return value;
    const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec(String((value as Schema).$ref)) ?? [];
    if (kind !== undefined && name !== undefined && kind !== "schemas") {
      const { [name]: shared } = short.components[kind as "responses"];
      if (shared === undefined) throw new Error(`There is no ${kind}/${name}.`);
      return resolved(shared);
    }
    return Object.fromEntries(Object.entries(value).map(([field, each]) => [field, resolved(each)]));
  }

  test("the published OpenAPI document means the same as the full one", () => {
    const schemas = Object.entries(document.components.schemas).map(([name, schema]) => [name, openList(schema)]);
    const opened = { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas) } };
    const { responses: _responses, parameters: _parameters, headers: _headers, ...components } = short.components;
    expect(resolved({ ...short, components })).toEqual(JSON.parse(JSON.stringify(opened)));
  });

  test("nothing stands among its components that is not referred to, and no answer of a problem stands twice", () => {
    const text = JSON.stringify(short);
    for (const kind of ["responses", "parameters", "headers"] as const) {
      for (const name of Object.keys(short.components[kind])) {
        expect([name, text.split(`"#/components/${kind}/${name}"`).length > 1]).toEqual([name, true]);
      }
    }
    const answers = Object.values(short.paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ responses }) =>
        Object.values(responses as Schema).map((each) => JSON.stringify(each)),
      ),
    );
    const twice = answers.filter((each, index) => each.includes("problem+json") && answers.indexOf(each) !== index);
    expect(twice).toEqual([]);
  });

  test("lists of values say that they may grow, so that a client of today reads tomorrow's", () => {
    const { Problem, ProblemCode } = short.components.schemas;
    expect(Problem?.properties).toMatchObject({ code: { $ref: "#/components/schemas/ProblemCode" } });
    expect(ProblemCode).toMatchObject({ type: "string", "x-extensible-enum": Object.keys(PROBLEMS) });
    expect(JSON.stringify(short)).not.toContain('"enum"');
  });

  test("regression: nothing in a request is null alone, of which generators make no type", () => {
    const { CreateWebhookRequest } = short.components.schemas;
    expect(CreateWebhookRequest?.properties).toMatchObject({ version: { type: ["string", "null"] } });
    for (const [name, schema] of Object.entries(short.components.schemas)) {
      const fields = Object.values((schema.properties ?? {}) as Record<string, Schema>);
      const alone = fields.filter(({ type }) => name.endsWith("Request") && type === "null");
      expect([name, alone]).toEqual([name, []]);
    }
  });

  test("the published OpenAPI document is no larger than 160 kB", () => {
    expect(Buffer.byteLength(JSON.stringify(short))).toBeLessThan(160_000);
  });
});

test("the document has a request for each event", () => {
  expect(Object.keys(document.webhooks)).toEqual(EVENT_TYPES);
});

test.each([true, false])("its headers are those that are sent; Standard Webhooks: %s", (standardWebhooks) => {
  const settings = { headerPrefix: "X-Acme", standardWebhooks };
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const attempt = { deliveryId: "d", eventType: "e", startedAt: new Date(0), body: "{}", traceparent };
  const sent = attemptHeaders(attempt, settings, "secret").filter((_, index) => index % 2 === 0);
  const ofHttp = ["User-Agent", "Accept", "Content-Type", "Content-Length"];
  expect(headerParameters(settings).map(({ name }) => name)).toEqual(sent.filter((name) => !ofHttp.includes(name)));
});

test("§2.4/fields §6/names the catalogue has a sample for each event, about the kind of entity that emitters name", () => {
  const eventTypes = eventTypesOf(DEFAULT_CATALOGUE);
  const samples = eventTypes.map(({ sample }) => JSON.parse(sample) as EventPayload);
  expect(samples.map(({ type, entityType }) => [type, entityType])).toEqual(
    EVENT_TYPES.map((type) => [type, DEFAULT_CATALOGUE[type].entityType]),
  );
  for (const sample of samples) {
    expect(Object.keys(sample)).toEqual(["id", "type", "occurredAtUtc", "entityType", "entityId", "data"]);
  }
  expect(eventTypes.filter(({ remark }) => remark !== null)).toMatchObject([{ name: "ProjectUpdated" }]);
});
