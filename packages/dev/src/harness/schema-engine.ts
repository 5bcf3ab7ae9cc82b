import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { PrismaPg } from "@prisma/adapter-pg";
import {
  bindMigrationAwareSqlAdapterFactory,
  ColumnTypeEnum,
  type SqlMigrationAwareDriverAdapterFactory,
} from "@prisma/driver-adapter-utils";
import type { DiffTarget, SchemaEngine } from "@prisma/schema-engine-wasm";
import * as bindings from "@prisma/schema-engine-wasm/schema_engine_bg";
import type { QueryArrayResult } from "pg";

// Node has it; its types are only in the types of a browser.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: Record<string, () => void> };
};

/** Types of pg_type. */
const [TYPE_CHAR, TYPE_TEXT] = [18, 25];

let loaded = false;

/** The SQL from one `schema.prisma`, undefined for no tables, to another; empty if they mean the same. Nothing of the database is read or changed. */
export async function diffSchemas(url: string, from: string | undefined, to: string): Promise<string> {
  const params = { script: true, exitCode: null, filters: { externalTables: [], externalEnums: [] } };
  const { stdout } = await withSchemaEngine(url, (engine) =>
    engine.diff({ from: from === undefined ? { tag: "empty" } : schema(from), to: schema(to), ...params }),
  );
  return stdout === null || /^\s*-- This is an empty migration/.test(stdout) ? "" : stdout;
}

function schema(content: string): DiffTarget {
  return { tag: "schemaDatamodel", files: [{ path: "schema.prisma", content }] };
}

/** Prisma's own schema engine as WebAssembly: what `prisma migrate` runs, without the native binary that the command line would download. */
export async function withSchemaEngine<T>(url: string, task: (engine: SchemaEngine) => Promise<T>): Promise<T> {
  loadEngine();
  const prismaPg = new PrismaPg({ connectionString: url, max: 1 });
  const opened: Awaited<ReturnType<typeof prismaPg.connect>>[] = [];
  const adapters: SqlMigrationAwareDriverAdapterFactory = {
    provider: prismaPg.provider,
    adapterName: prismaPg.adapterName,
    connectToShadowDb: () => prismaPg.connectToShadowDb(),
    connect: async () => {
      const adapter = await prismaPg.connect();
      opened.push(adapter);
      // The adapter's own splits at semicolons, within literals and comments too. The native engine sends the script as it is.
      adapter.executeScript = async (script) => void (await adapter.underlyingDriver().query(script));
      readCatalogueChars(adapter);
      return adapter;
    },
  };
  const engine = await bindings.SchemaEngine.new(
    { datamodels: undefined },
    () => {},
    bindMigrationAwareSqlAdapterFactory(adapters),
  );
  try {
    return await task(engine);
  } finally {
    engine.free();
    await Promise.all(opened.map((adapter) => adapter.dispose()));
  }
}

/** The adapter refuses the type "char" of the catalogue, which the engine reads when it describes a database: this tells it so. */
function readCatalogueChars(adapter: Awaited<ReturnType<PrismaPg["connect"]>>): void {
  const driver = adapter.underlyingDriver();
  const query = driver.query.bind(driver) as (...args: unknown[]) => Promise<QueryArrayResult>;
  let chars: number[] = [];
  const querying = async (...args: unknown[]) => {
    const result = await query(...args);
    chars = (result.fields ?? []).flatMap(({ dataTypeID }, column) => (dataTypeID === TYPE_CHAR ? [column] : []));
    for (const column of chars) {
      Object.assign(result.fields[column] as object, { dataTypeID: TYPE_TEXT });
      // None is a zero byte.
      for (const row of result.rows) if (row[column] === "") row[column] = "\0";
    }
    return result;
  };
  Object.assign(driver, { query: querying });
  // The engine asks for one thing after the other.
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = async (asked) => {
    const result = await queryRaw(asked);
    for (const column of chars) result.columnTypes[column] = ColumnTypeEnum.Character;
    return result;
  };
}

/** The package's own entry imports its .wasm as a module, which Node does only behind a flag. */
function loadEngine(): void {
  if (loaded) return;
  const folder = dirname(createRequire(import.meta.url).resolve("@prisma/schema-engine-wasm/schema_engine_bg"));
  const binary = new WebAssembly.Module(readFileSync(join(folder, "schema_engine_bg.wasm")));
  const { exports } = new WebAssembly.Instance(binary, { "./schema_engine_bg.js": withoutLingeringTimers() });
  bindings.__wbg_set_wasm(exports);
  exports.__wbindgen_start?.();
  loaded = true;
}

/** The engine never clears its lock's timer of 10 s, which would keep a process that is done from ending. */
function withoutLingeringTimers(): object {
  const imports: Record<string, unknown> = { ...bindings };
  for (const [name, setTimer] of Object.entries(imports)) {
    if (!name.startsWith("__wbg_setTimeout") || typeof setTimer !== "function") continue;
    imports[name] = (...args: unknown[]) => (setTimer(...args) as NodeJS.Timeout).unref();
  }
  return imports;
}
