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
  const samples = EVENT_TYPES.map((name) => {
    const fields = Object.entries(samplePayload(name)).map(([field, value]) => `    ${field}: ${literal(value)},`);
    return [`  ${name}: {`, ...fields, "  },"].join("\n");
  }).join("\n");
  return `// Made by \`pnpm run docs\` of the samples in packages/contracts. Change those.
import type { EventOf, EventType } from "@herald/receiver";

/** An event of each type, as receivers get it. */
export const SAMPLES: { readonly [Type in EventType]: EventOf<Type> } = {
${samples}
};
`;
}

/** As the formatter writes what fits into a line. */
function literal(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([name, each]) => `${name}: ${literal(each)}`)
    .join(", ")} }`;
}
