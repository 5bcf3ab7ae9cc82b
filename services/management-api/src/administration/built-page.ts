import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, sep } from "node:path";
import type { RequestHandler } from "express";
import { type Encoded, publicFile } from "../http/public-file.ts";

/** How a build names what it has compressed, beside the file itself. */
const ENDINGS = { br: ".br", gzip: ".gz" } as const;
const COMPRESSED: ReadonlySet<string> = new Set(Object.values(ENDINGS));
const ASSETS = "/assets/";

export interface BuiltPage {
  /** Null where the page isn't built. */
  html: string | null;
  /** Its other files, by their paths. */
  files: ReadonlyMap<string, RequestHandler>;
}

/** Reads the files of a built admin page, less than a megabyte. So a request for one reads no disk and compresses nothing. */
export function readBuiltPage(folder: string): BuiltPage {
  if (!existsSync(join(folder, "index.html"))) return { html: null, files: new Map() };
  const files = new Map<string, RequestHandler>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const ending = extname(entry.name);
    if (!entry.isFile() || COMPRESSED.has(ending) || entry.name === "index.html") continue;
    const file = join(entry.parentPath, entry.name);
    const path = file.slice(join(folder, "/").length - 1).replaceAll(sep, "/");
    // An asset never changes: a new content gets a new name.
    const cacheControl = path.startsWith(ASSETS) ? "public, max-age=31536000, immutable" : "no-cache";
    files.set(path, publicFile(readFileSync(file), { type: ending, cacheControl, encoded: builtEncodings(file) }));
  }
  return { html: readFileSync(join(folder, "index.html"), "utf8"), files };
}

function builtEncodings(file: string): Encoded {
  const built = Object.entries(ENDINGS).filter(([, ending]) => existsSync(file + ending));
  return Object.fromEntries(built.map(([encoding, ending]) => [encoding, readFileSync(file + ending)]));
}
