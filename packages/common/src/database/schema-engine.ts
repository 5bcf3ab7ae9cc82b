import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { PrismaPg } from "@prisma/adapter-pg";
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlMigrationAwareDriverAdapterFactory,
} from "@prisma/driver-adapter-utils";
import type { SchemaEngine } from "@prisma/schema-engine-wasm";
import * as bindings from "@prisma/schema-engine-wasm/schema_engine_bg";

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
 * @param datamodel a `schema.prisma` as text, where the task needs one
 */
export async function withSchemaEngine<T>(
  url: string,
  datamodel: string | undefined,
  task: (engine: SchemaEngine) => Promise<T>,
): Promise<T> {
  loadEngine();
  const adapters = adapterFactory(url);
  const engine = await bindings.SchemaEngine.new(
    { datamodels: datamodel === undefined ? undefined : [["schema.prisma", datamodel]] },
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
  const pg = new PrismaPg({ connectionString: url, max: 1 });
  const opened: Awaited<ReturnType<typeof pg.connect>>[] = [];
  return {
    factory: {
      provider: pg.provider,
      adapterName: pg.adapterName,
      connectToShadowDb: () => pg.connectToShadowDb(),
      connect: async () => {
        const adapter = await pg.connect();
        opened.push(adapter);
        // The adapter's own splits at semicolons, within literals too, and leaves half a migration behind when one of the
        // statements fails. One query of many statements is one transaction.
        adapter.executeScript = async (script) => {
          await adapter.underlyingDriver().query(script);
        };
        return adapter;
      },
    },
    dispose: async () => {
      await Promise.all(opened.map((adapter) => adapter.dispose()));
    },
  };
}
