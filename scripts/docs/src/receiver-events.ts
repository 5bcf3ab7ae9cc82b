import { EVENT_TYPES, samplePayload } from "@herald/contracts";
import { eventPayloadSchema, type Schema } from "@herald/contracts/schemas";

/**
 * The module of the receiver's package that knows the events: names and types. It is made of the contract, because what
 * receivers install needs no other package.
 */
export function receiverEvents(): string {
  const names = EVENT_TYPES.map((name) => `  ${JSON.stringify(name)},`).join("\n");
  const { properties } = eventPayloadSchema as object as { properties: Record<string, Schema> };
  const event = objectType(
    {
      ...(eventPayloadSchema as object as Schema),
      properties: { ...properties, type: { ...properties.type, typeScript: "Type" } },
    },
    "",
  );
  return `// Made by \`pnpm run docs\` of the schema in packages/contracts. Change that.

/** The names of the events (SPEC 6). */
export const EVENT_TYPES = [
${names}
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** The body of an automatic event of one type (SPEC 2.4). Fields may be added to it. */
export interface EventOf<Type extends EventType> ${event}

/** The body of an automatic event; its \`type\` tells the others apart. */
export type HeraldEvent = { [Type in EventType]: EventOf<Type> }[EventType];
`;
}

/** The module of the listener's package that has an event of each type to send. */
export function sampleEvents(): string {
  const samples = EVENT_TYPES.map((name) => `  ${name}: ${literal(samplePayload(name), "  ")},`).join("\n");
  return `// Made by \`pnpm run docs\` of the samples in packages/contracts. Change those.
import type { EventOf, EventType } from "@herald/receiver";

/** An event of each type, as receivers get it. */
export const SAMPLES: { readonly [Type in EventType]: EventOf<Type> } = {
${samples}
};
`;
}

/** The TypeScript type of a JSON Schema: of as much of the language as the contract uses. */
function typeOf(schema: Schema, indent: string): string {
  if (typeof schema.typeScript === "string") return schema.typeScript;
  const types = [schema.type].flat() as string[];
  return types
    .map((type) => {
      if (type === "object") return objectType(schema, indent);
      if (type === "string" || type === "null" || type === "boolean") return type;
      throw new Error(`The event's schema has a ${type}, which receiverEvents can't say in TypeScript yet.`);
    })
    .join(" | ");
}

function objectType(schema: Schema, indent: string): string {
  const inner = `${indent}  `;
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  const required = (schema.required ?? []) as string[];
  const lines = properties.flatMap(([name, property]) => [
    `${inner}/** ${property.description} */`,
    `${inner}${name}${required.includes(name) ? "" : "?"}: ${typeOf(property, inner)};`,
  ]);
  if (typeof schema.additionalProperties === "object") {
    lines.push(`${inner}[name: string]: ${typeOf(schema.additionalProperties as Schema, inner)};`);
  } else if (indent !== "" && required.length === 0) {
    // Details that an event of one type has, and the contract does not name.
    lines.push(`${inner}[detail: string]: unknown;`);
  }
  return `{\n${lines.join("\n")}\n${indent}}`;
}

/** As the formatter writes an object that is broken into lines. */
function literal(value: unknown, indent: string): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const lines = Object.entries(value).map(([name, each]) => `${inner}${name}: ${literal(each, inner)},`);
  return `{\n${lines.join("\n")}\n${indent}}`;
}
