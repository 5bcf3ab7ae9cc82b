import { type Static, type TProperties, type TSchema, type TSchemaOptions, type TUnsafe, Type } from "typebox";
import { ID_PREFIX } from "./rules.ts";

export type Schema = { readonly [keyword: string]: unknown };

// The words that Herald's schemas are made of. Each is a JSON Schema and a TypeScript type at once, which `Static` reads.

export const text = (description: string, rules: TSchemaOptions = {}) => Type.String({ description, ...rules });
export const flag = (description: string) => Type.Boolean({ description });
export const count = (description: string, bounds: { minimum?: number; maximum?: number } = {}) =>
  Type.Integer({ description, minimum: 0, ...bounds });

export const uuid = (description: string) => text(description, { format: "uuid" });
export const idPrefix = (description: string) =>
  text(description, { pattern: ID_PREFIX.source, examples: ["b70c1219"] });
export const time = (description: string) => text(description, { format: "date-time", pattern: "Z$" });
export const httpStatus = (description: string) => count(description, { minimum: 100, maximum: 999 });
/** A cursor: the place at which a list continues. It is opaque: clients send it back unchanged. */
export const cursor = (description: string) =>
  text(description, { format: "cursor", examples: ["AZwT1vQAgnGb33lmCO1oow"] });
/**
 * `isOrganizationId`, as far as a schema can say it to every language: a validator that counts characters in another way, or takes
 * half of a surrogate pair for a character, accepts more. Regular expressions of several languages have no names for control
 * characters and no escapes for them, so here they stand themselves.
 */
export const organizationId = text("The organization. Compared exactly.", {
  minLength: 1,
  maxLength: 128,
  not: { pattern: "[\u0000-\u001f\u007f-\u009f]" },
});

export function oneOf<const Value extends string>(values: readonly Value[], description: string): TUnsafe<Value> {
  return Type.Unsafe<Value>({ type: "string", enum: values, description });
}

/** An object whose properties are all there, but for those made optional by `Type.Optional`. */
export const object = <Properties extends TProperties>(description: string, properties: Properties) =>
  Type.Object(properties, { description });

/**
 * The same for a body of an operation that SPEC does not describe: it refuses fields that it doesn't know, since a filter with a misspelt
 * name would silently filter nothing.
 */
export const closedObject = <Properties extends TProperties>(
  description: string,
  properties: Properties,
  rules: TSchemaOptions = {},
) => Type.Object(properties, { description, additionalProperties: false, ...rules });

export const listOf = <Item extends TSchema>(
  item: Item,
  description: string,
  bounds: { minItems?: number; maxItems?: number } = {},
) => Type.Array(item, { description, ...bounds });

/** As `type: [..., "null"]`, which reads better in documents than TypeBox's `anyOf`. */
export function orNull<Inner extends TSchema>(inner: Inner): TUnsafe<Static<Inner> | null> {
  const schema = inner as object as Schema;
  const values = schema.enum as unknown[] | undefined;
  return Type.Unsafe({ ...schema, type: [schema.type, "null"], ...(values && { enum: [...values, null] }) });
}

/** The query parameters of a list that comes in parts. @param most items of a part; @param usual the default */
export const partOf = (what: string, { most, usual }: { most: number; usual: number }) => ({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: most, default: usual, description: `${what} to answer with.` }),
  ),
  cursor: Type.Optional(cursor("`nextCursor` of the part before.")),
});

/** Query parameters of a list, validated: the validator fills in the default of `limit`. */
export type Query<Parameters extends TSchema> = Static<Parameters> & { limit: number };

/** Refers to a component of the OpenAPI document, given as `{ Name }`: the constant's name is the component's. */
export function refTo<Component extends TSchema>(
  component: Record<string, Component>,
  description?: string,
): TUnsafe<Static<Component>> {
  return Type.Unsafe({
    $ref: `#/components/schemas/${Object.keys(component)[0]}`,
    ...(description !== undefined && { description }),
  });
}

export function refOrNull<Component extends TSchema>(
  component: Record<string, Component>,
  description: string,
): TUnsafe<Static<Component> | null> {
  return Type.Unsafe({ anyOf: [refTo(component), { type: "null" }], description });
}

/** JSON, or YAML in quotation marks, without control characters that neither has to escape: YAML refuses them, people can't see them. */
export function escapeControls(text: string): string {
  return text.replace(/[\u007f-\u009f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
