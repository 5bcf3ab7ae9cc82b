import type { DiffTarget } from "@prisma/schema-engine-wasm";
import { withSchemaEngine } from "./schema-engine.ts";

/**
 * The SQL that turns what one `schema.prisma` means into what another one means; empty where they mean the same.
 *
 * @param url of any database of the kind; nothing in it is read or changed
 * @param from the text of the earlier schema, undefined for no tables at all
 */
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
