import { EVENT_TYPES } from "@herald/contracts";
import type { Schema } from "@herald/contracts/schemas";
import fc, { type Arbitrary } from "fast-check";
import { cursorOf } from "../../../src/deliveries/cursor.ts";
import { versionOf } from "../../../src/endpoints/version.ts";

/** Texts for the formats that a schema can't say in full. */
const formats: Record<string, Arbitrary<string>> = {
  uuid: fc.uuid(),
  "date-time": fc.date({ noInvalidDate: true, min: new Date(0) }).map((date) => date.toISOString()),
  "webhook-name": fc.string({ minLength: 1, maxLength: 200, unit: "grapheme" }),
  "webhook-url": fc.oneof(
    fc.webUrl({ validSchemes: ["https"], withQueryParameters: true }),
    fc.constantFrom("https://example.com/hook", "https://93.184.216.34/", "https://[2606:4700::1111]:8443/a?b"),
  ),
  "json-text": fc.json(),
  "endpoint-version": fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(versionOf),
  cursor: fc.uuid().map(cursorOf),
};

/** What is likely to trip a server, as any value of any field. */
export const junk: Arbitrary<unknown> = fc.oneof(
  fc.anything({ withNullPrototype: false, maxDepth: 2 }).filter(isJson),
  fc.constantFrom<unknown>(
    null,
    "",
    " ",
    "\0",
    "\ud800",
    "a".repeat(5_000),
    -1,
    0,
    1e308,
    2 ** 53,
    "'; drop table webhook_endpoint; --",
    "{{7*7}}",
    "__proto__",
    { __proto__: null, constructor: { prototype: { enabled: true } } },
    "https://127.1/",
    "https://user:password@example.com/",
    [[[[]]]],
    "*",
    "AAAAAAAAAAA=",
    "9999-12-31T23:59:59.999Z",
    "0000-00-00T00:00:00Z",
  ),
);

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}

/** Values that a schema takes, or nearly: formats are met as far as {@link formats} knows them. */
export function arbitraryOf(schema: Schema, components: Record<string, Schema>): Arbitrary<unknown> {
  if (typeof schema.$ref === "string") {
    return arbitraryOf(components[schema.$ref.split("/").at(-1) ?? ""] as Schema, components);
  }
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if (Array.isArray(schema.type)) {
    return fc.oneof(...schema.type.map((type) => arbitraryOf({ ...schema, type }, components)));
  }
  if (schema.type === undefined) return junk;
  switch (schema.type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer({ min: (schema.minimum as number) ?? -1_000, max: (schema.maximum as number) ?? 1_000 });
    case "string":
      return formats[String(schema.format)] ?? fc.string({ unit: "binary" });
    case "array":
      return fc.array(arbitraryOf(schema.items as Schema, components), {
        minLength: (schema.minItems as number) ?? 0,
        maxLength: EVENT_TYPES.length,
      });
    case "object":
      return fc.record(
        Object.fromEntries(
          Object.entries(schema.properties as Record<string, Schema>).map(([name, each]) => [
            name,
            arbitraryOf(each, components),
          ]),
        ),
        { requiredKeys: (schema.required as string[]) ?? [] },
      );
    default:
      throw new Error(`No arbitrary for ${JSON.stringify(schema)}.`);
  }
}

/** A valid object with one field gone, or something else in its place, or something beside it. */
export function broken(valid: Arbitrary<unknown>): Arbitrary<unknown> {
  return fc.tuple(valid, fc.nat(), fc.constantFrom("drop", "replace", "add"), junk).map(([value, at, how, other]) => {
    const object = { ...(value as Record<string, unknown>) };
    const names = Object.keys(object);
    const name = names[at % Math.max(1, names.length)] ?? "name";
    if (how === "drop") delete object[name];
    else if (how === "replace") object[name] = other;
    else object[`${name}2`] = other;
    return object;
  });
}
