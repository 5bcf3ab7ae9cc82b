import { readFileSync } from "node:fs";
import { join } from "node:path";
import { relaySettings } from "@herald/cli/relay/relay-settings";
import {
  DEFAULT_API_LIMITS,
  DEFAULT_CATALOGUE,
  EVENT_TYPES,
  NO_DELIVERY_REASONS,
  PROBLEMS,
  samplePayload,
} from "@herald/contracts";
import { escapeControls, eventSchemaFiles } from "@herald/contracts/schemas";
import { projectFolder } from "@herald/dev/stack/folders";
import { dispatcherSettings } from "@herald/dispatcher";
import { outboxTable } from "@herald/emitter/outbox";
import { managementApiSettings, openApiDocument, published } from "@herald/management-api";
import { publisherSettings } from "@herald/publisher";
import { configurationDocument, knownSettings, servicesTable } from "./configuration.ts";
import { heraldMetrics, metricsDocument } from "./metrics.ts";
import { sizingTable } from "./sizing.ts";

/** `docs/api/errors.md`, made of the catalogue. */
function errorsPage(): string {
  const rows = Object.entries(PROBLEMS).map(
    ([code, { status, when, action }]) => `| \`${code}\` | ${status} | ${when} | ${action} |`,
  );
  return [
    "# Errors of the management API",
    "",
    "| `code` | status | when | what to do |",
    "|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

/** The command that writes every generated document. `pnpm docs` alone is a command of pnpm itself. */
export const COMMAND = "pnpm run docs";

/**
 * Every generated document of the repository: its file, from the root on, and its text. A test compares the files with it.
 * A document that is generated in part has its hand-written rest from the file itself.
 */
export function documents(): Record<string, string> {
  // Dispatcher and publisher come first: where services share a setting, the first one says what it means.
  const services = {
    dispatcher: dispatcherSettings,
    publisher: publisherSettings,
    "management-api": managementApiSettings,
  };
  const settings = knownSettings(services);
  const settingsOfRelay = knownSettings({ ...services, relay: relaySettings }).filter(
    ({ services: [first] }) => first === "relay",
  );
  const openApi = openApiDocument({ limits: DEFAULT_API_LIMITS, basePath: "", cookieName: "herald_session" });
  return {
    "docs/configuration.md": configurationDocument(settings, Object.keys(services), settingsOfRelay),
    "docs/api/openapi.json": escapeControls(`${JSON.stringify(published(openApi), null, 2)}\n`),
    "docs/api/README.md": withBlocks(read("docs/api/README.md"), { reasons: reasonsTable() }),
    "docs/api/errors.md": errorsPage(),
    "docs/operating/deploy.md": withBlocks(read("docs/operating/deploy.md"), {
      "settings of services": servicesTable(settings, ["management-api", "publisher", "dispatcher"]),
    }),
    "docs/operating/metrics.md": metricsDocument(heraldMetrics()),
    "docs/operating/sizing.md": withBlocks(read("docs/operating/sizing.md"), {
      sizing: sizingTable(read("docs/scaling.md")),
    }),
    "docs/emitting-events.md": withBlocks(read("docs/emitting-events.md"), {
      "event types": eventTypesTable(),
      "outbox table": `\`\`\`sql\n${outboxTable()}\`\`\``,
    }),
    "packages/emitter/sql/outbox.sql": outboxTable(),
    "packages/listen/src/samples.ts": sampleEvents(),
  };
}

/** Files that a package holds beside its build and the repository does not: made when the package is packed. */
export function packedFiles(): Record<string, string> {
  const schemas = Object.entries(eventSchemaFiles());
  return Object.fromEntries(schemas.map(([path, text]) => [`packages/contracts/schemas/${path}`, text]));
}

function read(file: string): string {
  return readFileSync(join(projectFolder(), file), "utf8");
}

/** Replaces the generated blocks of a hand-written document, by the names in the comments around them: `<!-- generated: x -->`, `<!-- end of x -->`. */
export function withBlocks(text: string, blocks: Record<string, string>): string {
  return Object.entries(blocks).reduce((page, [name, block]) => {
    const [begin, end] = [`<!-- generated: ${name} -->\n`, `\n<!-- end of ${name} -->`];
    const [before, rest] = page.split(begin);
    const after = rest?.split(end)[1];
    if (after === undefined) throw new Error(`The document has no block between ${begin.trim()} and ${end.trim()}.`);
    return `${before}${begin}${block}${end}${after}`;
  }, text);
}

function eventTypesTable(): string {
  const rows = Object.entries(DEFAULT_CATALOGUE).map(
    ([name, { emittedWhen, entityType }]) => `| \`${name}\` | ${emittedWhen} | \`${entityType}\` |`,
  );
  return ["| event | emitted when | `entityType` |", "|---|---|---|", ...rows].join("\n");
}

function reasonsTable(): string {
  const rows = Object.entries(NO_DELIVERY_REASONS).map(([reason, sentence]) => `| \`${reason}\` | ${sentence} |`);
  return ["| reason | meaning |", "|---|---|", ...rows].join("\n");
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
