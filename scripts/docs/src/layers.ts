import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** A package of this repository. */
export interface Layer {
  /** From the root on. The package is called `@herald/` and the folder's last part. */
  folder: string;
  holds: string;
  /** Names of the packages that it may import. All of them stand above it in the list, so that no circle can arise. */
  imports: readonly string[] | "any above";
  /** What its tests may import besides, apart from packages/dev. */
  tests?: readonly string[];
}

/** Every package, and what it may import. A lower package stands further up. */
export const LAYERS: readonly Layer[] = [
  {
    folder: "packages/contracts",
    holds:
      "published: what crosses a border, as types and JSON Schemas: events, API resources, broker messages, notices",
    imports: [],
  },
  {
    folder: "packages/amqp",
    holds: "published: a RabbitMQ connection that recovers, its channels, consumer and confirm publisher",
    imports: [],
  },
  {
    folder: "packages/receiver",
    holds: "published: what a receiver installs: verifier, adapters, deduplication, types of events",
    imports: [],
  },
  {
    folder: "packages/listen",
    holds: "published: what developers of receivers run, `herald-listen`: listen, send, check",
    imports: ["receiver"],
  },
  {
    folder: "packages/emitter",
    holds: "published: what a product service installs to emit events, and the outbox",
    imports: ["contracts", "amqp"],
  },
  {
    folder: "packages/common",
    holds: "what at least two services share: configuration, database, topology, security, telemetry",
    imports: ["contracts", "amqp"],
  },
  {
    folder: "packages/admin-ui",
    holds: "the admin page",
    imports: ["contracts"],
    tests: ["emitter", "e2e"],
  },
  {
    folder: "services/publisher",
    holds: "the process that takes events in, fans them out, catches up, erases what is old and sends notices",
    imports: ["contracts", "common"],
  },
  {
    folder: "services/dispatcher",
    holds: "the process that owns endpoints, makes their attempts and settles them",
    imports: ["contracts", "common"],
  },
  {
    folder: "services/management-api",
    holds: "the process that serves the HTTP API and the admin page",
    imports: ["contracts", "common"],
  },
  {
    folder: "packages/cli",
    holds: "the `herald` command, which also runs the three services in one process",
    imports: ["contracts", "emitter", "common", "publisher", "dispatcher", "management-api"],
  },
  {
    folder: "packages/dev",
    holds:
      "what developers and tests start: PostgreSQL, RabbitMQ, `pnpm start`, `emit`, `token`, the demo receiver; a harness",
    imports: "any above",
  },
  {
    folder: "packages/e2e",
    holds: "tests of Herald as a whole: journeys, operations, publishing, the chart, chaos",
    imports: "any above",
  },
  {
    folder: "scripts/docs",
    holds: "generators of documents, and checks of documents and layers",
    imports: "any above",
  },
];

function nameOf({ folder }: Layer): string {
  return folder.slice(folder.lastIndexOf("/") + 1);
}

function importsOf(layer: Layer): readonly string[] {
  return layer.imports === "any above" ? LAYERS.slice(0, LAYERS.indexOf(layer)).map(nameOf) : layer.imports;
}

/** The table of docs/architecture.md. */
export function layersTable(): string {
  const rows = LAYERS.map(({ folder, holds, imports }) => {
    const allowed = imports === "any above" ? imports : imports.join(", ") || "nothing of ours";
    return `| \`${folder}\` | ${holds} | ${allowed} |`;
  });
  return ["| folder | what it holds | may import |", "|---|---|---|", ...rows].join("\n");
}

/** A text, such as a program of examples/ that the page shows, is no code of another layer. */
const TEXT = "?raw";

const IMPORT = /\b(?:from|import)\s*\(?\s*"(@herald\/[\w-]+|\.[^"]*)/g;

/**
 * Says which imports of a file break the rules.
 *
 * @param file from the root on, such as `packages/common/src/runtime/clock.ts`
 */
export function forbiddenImports(file: string, source: string): string[] {
  const layer = LAYERS.find(({ folder }) => file.startsWith(`${folder}/`));
  if (!layer) return [`${file} is in no package of scripts/docs/src/layers.ts.`];
  const isTest = !file.startsWith(`${layer.folder}/src/`) || /\.test\.tsx?$/.test(file);
  const allowed = [nameOf(layer), ...importsOf(layer), ...(isTest ? ["dev", ...(layer.tests ?? [])] : [])];
  const forbidden: string[] = [];
  for (const [, target = ""] of source.matchAll(IMPORT)) {
    if (target.endsWith(TEXT)) continue;
    const fits = target.startsWith(".")
      ? join(dirname(file), target).startsWith(`${layer.folder}/`)
      : allowed.includes(target.slice("@herald/".length));
    if (!fits) forbidden.push(`${file} must not import ${target}: see "Layers" in docs/architecture.md.`);
  }
  return forbidden;
}

/** What breaks the rules in a checkout: imports, and packages that the list of layers lacks or has too much. */
export function layerFaults(root: string): string[] {
  const folders = ["packages", "services", "scripts"].flatMap((group) =>
    readdirSync(join(root, group)).map((name) => `${group}/${name}`),
  );
  const packages = folders.filter((folder) => existsSync(join(root, folder, "package.json")));
  const listed = LAYERS.map(({ folder }) => folder);
  return [
    ...listed.filter((folder) => !packages.includes(folder)).map((folder) => `${folder} has no package.json.`),
    ...packages
      .flatMap((folder) => sourceFiles(join(root, folder)))
      .flatMap((path) => forbiddenImports(relative(root, path).replaceAll("\\", "/"), readFileSync(path, "utf8"))),
  ];
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ["node_modules", "dist", "generated"].includes(entry.name) ? [] : sourceFiles(path);
    return /\.[jt]sx?$/.test(entry.name) ? [path] : [];
  });
}
