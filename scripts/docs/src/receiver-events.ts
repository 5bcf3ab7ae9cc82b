import { typescriptTypes } from "@herald/cli/events/event-types";
import { DEFAULT_CATALOGUE, EVENT_TYPES, samplePayload } from "@herald/contracts";

/**
 * The module of the receiver's package that knows the events: names and types. It is made of the contract, because what
 * receivers install needs no other package.
 */
export function receiverEvents(): string {
  return typescriptTypes(
    DEFAULT_CATALOGUE,
    "Made by `pnpm run docs` of the schema in packages/contracts. Change that.",
  );
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

/** As the formatter writes an object that is broken into lines. */
function literal(value: unknown, indent: string): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const lines = Object.entries(value).map(([name, each]) => `${inner}${name}: ${literal(each, inner)},`);
  return `{\n${lines.join("\n")}\n${indent}}`;
}
