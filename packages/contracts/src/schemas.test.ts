import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { oneOf, orNull } from "./json-schema.ts";
import { DEFAULT_API_LIMITS } from "./rules.ts";
import { apiSchemas, type Schema } from "./schemas.ts";

const schemas = apiSchemas();

test("every reference of an API schema leads to another", () => {
  const names = [...JSON.stringify(schemas).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
    ([, name]) => name,
  );
  expect(names.length).toBeGreaterThan(10);
  expect(Object.keys(schemas)).toEqual(expect.arrayContaining(names));
});

test("every API schema and every field of it says what it is", () => {
  const isReference = (schema: Schema) => "$ref" in schema;
  for (const [name, schema] of Object.entries(schemas)) {
    expect([name, schema.description]).toEqual([name, expect.stringMatching(/\.$/)]);
    for (const [field, property] of Object.entries((schema.properties ?? {}) as Record<string, Schema>)) {
      if (!isReference(property))
        expect([name, field, property.description]).toEqual([name, field, expect.any(String)]);
    }
  }
});

test("a field that may be null says so with its type, or beside the schema that it refers to", () => {
  const { disabledReason, disabledAtUtc } = schemas.EndpointDetails.properties as Record<string, Schema>;
  expect(disabledAtUtc).toMatchObject({ type: ["string", "null"], format: "date-time", pattern: "Z$" });
  expect(disabledReason?.anyOf).toEqual([{ $ref: "#/components/schemas/DisabledReason" }, { type: "null" }]);
  expect(orNull(oneOf(["a"], "A."))).toEqual({ type: ["string", "null"], enum: ["a", null], description: "A." });
});

test("every closed list and every object has a name, so that a generated client has one type for each", () => {
  // Generators name a parameter by its operation.
  const bodies = Object.entries(schemas).filter(([name]) => !name.endsWith("Query"));
  const unnamed = bodies.flatMap(([name, { properties }]) =>
    Object.entries(properties ?? {})
      .filter(([, field]) => /"(?:enum|properties)":/.test(JSON.stringify(field)))
      .map(([field]) => `${name}.${field}`),
  );
  expect(unnamed).toEqual([]);
});

test("what clients may leave out is not required, and the bounds are the service's settings", () => {
  const { CreateWebhookRequest, EditWebhookRequest, CheckWebhookRequest, DeliverRequest } = apiSchemas({
    ...DEFAULT_API_LIMITS,
    nameCharacters: 7,
    payloadBytes: 8_000,
  });
  expect(CreateWebhookRequest.required).toEqual(["name", "url", "enabled", "events"]);
  expect(EditWebhookRequest.required).toEqual(["name", "url", "enabled", "events", "version"]);
  expect(CheckWebhookRequest.required).toBeUndefined();
  expect(CreateWebhookRequest.properties).toMatchObject({ name: { maxLength: 7 }, rotateSecret: { default: false } });
  expect(JSON.stringify(DeliverRequest)).toContain("at most 8000 bytes");
});

test("the package's main entry loads no TypeBox, so that page and emitter don't carry it", () => {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const source = readFileSync(new URL(file, import.meta.url), "utf8");
    for (const [, from = ""] of source.matchAll(/^(?:import|export) (?!type\b)[^;]*? from "([^"]+)";/gm)) {
      if (existsSync(new URL(from, import.meta.url))) visit(from);
      else seen.add(from);
    }
  };
  visit("./index.ts");
  expect([...seen].sort()).toEqual([
    "./event-samples.ts",
    "./event-types.ts",
    "./index.ts",
    "./judge-event.ts",
    "./problem-catalogue.ts",
    "./rules.ts",
    "./vocabulary.ts",
  ]);
});
