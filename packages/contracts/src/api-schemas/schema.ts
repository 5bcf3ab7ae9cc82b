import { EVENT_TYPES } from "../event-types.ts";

/** A JSON Schema (2020-12), as OpenAPI 3.1 has them. */
export type Schema = { readonly [keyword: string]: unknown };

// Words for what the API's schemas are made of.
export const eventType: Schema = { type: "string", enum: EVENT_TYPES, description: "An event's exact name." };
export const uuid = (description: string): Schema => ({ type: "string", format: "uuid", description });
export const time = (description: string): Schema => ({
  type: "string",
  format: "date-time",
  pattern: "Z$",
  description,
});
export const text = (description: string): Schema => ({ type: "string", description });
export const flag = (description: string): Schema => ({ type: "boolean", description });
export const count = (description: string, maximum?: number): Schema => ({
  type: "integer",
  minimum: 0,
  ...(maximum !== undefined && { maximum }),
  description,
});
export const listOf = (items: Schema, description: string, more: Schema = {}): Schema => ({
  type: "array",
  items,
  description,
  ...more,
});
export const orNull = (schema: Schema): Schema =>
  "enum" in schema
    ? { ...schema, type: [schema.type, "null"], enum: [...(schema.enum as unknown[]), null] }
    : { ...schema, type: [schema.type, "null"] };
export const refTo = (name: SchemaName): Schema => ({ $ref: `#/components/schemas/${name}` });
export const refOrNull = (name: SchemaName, description: string): Schema => ({
  anyOf: [refTo(name), { type: "null" }],
  description,
});

/** An object whose properties are all there, but for those named optional. */
export function object(description: string, properties: Record<string, Schema>, optional: string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", description, required, properties };
}

export type SchemaName =
  | "WebhookEndpointSummary"
  | "WebhookDeliverySummary"
  | "CreateWebhookRequest"
  | "EditWebhookRequest"
  | "DeleteWebhookRequest"
  | "CheckWebhookRequest"
  | "CheckWebhookResponse"
  | "DeliverRequest"
  | "SaveWebhookResponse"
  | "SessionInfo"
  | "EventTypeInfo"
  | "EndpointOverview"
  | "EndpointDetails"
  | "HourOfDeliveries"
  | "FailedAttempt"
  | "DeliveryListItem"
  | "DeliveryPage"
  | "DeliveryDetails"
  | "DeliveryAttemptInfo"
  | "DeliveryQuery"
  | "Problem"
  | "FieldProblem";
