import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { PrismaPg } from "@prisma/adapter-pg";
import {
  bindMigrationAwareSqlAdapterFactory,
  DriverAdapterError,
  type SqlMigrationAwareDriverAdapterFactory,
} from "@prisma/driver-adapter-utils";
import type { SchemaEngine } from "@prisma/schema-engine-wasm";
import * as bindings from "@prisma/schema-engine-wasm/schema_engine_bg";
import pg from "pg";

export type { SchemaEngine };

// Node has it; its types come only with those of a browser.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: Record<string, () => void> };
};

let loaded = false;

/**
 * Prisma's own schema engine as WebAssembly: what `prisma migrate` runs, without the native binary that the command
 * line would download.
 *
 * @param url the PostgreSQL database that the engine works on
 */
export async function withSchemaEngine<T>(url: string, task: (engine: SchemaEngine) => Promise<T>): Promise<T> {
  loadEngine();
  const adapters = adapterFactory(url);
  const engine = await bindings.SchemaEngine.new(
    { datamodels: undefined },
    () => {},
    bindMigrationAwareSqlAdapterFactory(adapters.factory),
  );
  try {
    return await task(engine);
  } finally {
    engine.free();
    await adapters.dispose();
  }
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

function adapterFactory(url: string): { factory: SqlMigrationAwareDriverAdapterFactory; dispose(): Promise<void> } {
  const prismaPg = new PrismaPg({ connectionString: url, max: 1 });
  const opened: Awaited<ReturnType<typeof prismaPg.connect>>[] = [];
  return {
    factory: {
      provider: prismaPg.provider,
      adapterName: prismaPg.adapterName,
      connectToShadowDb: () => prismaPg.connectToShadowDb(),
      connect: async () => {
        const adapter = await prismaPg.connect();
        opened.push(adapter);
        // The adapter's own splits at semicolons, within literals too, and leaves half a migration behind when one of the
        // statements fails. One query of many statements is one transaction.
        adapter.executeScript = async (script) => {
          await adapter.underlyingDriver().query(script).catch(throwAsDriverError);
        };
        return adapter;
      },
    },
    dispose: async () => {
      await Promise.all(opened.map((adapter) => adapter.dispose()));
    },
  };
}

/** In the engine's own terms, so that its message says what PostgreSQL said, and where. */
function throwAsDriverError(error: unknown): never {
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) throw error;
  const { code, severity = "ERROR", message, detail, column, hint } = error;
  throw new DriverAdapterError({ kind: "postgres", code, severity, message, detail, column, hint });
}
