import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { output, withoutPnpm } from "./output.ts";
import { type Tried, tryReceiver } from "./tried.ts";
import { withCopy } from "./with-copy.ts";

/** A framework for Node that the project has a receiver for, in examples/receive-node. */
export interface Framework {
  name: string;
  file: string;
  /** The package whose version is told. */
  module: string;
  /** What the test starts in its place, where it is a part of a program only. */
  startedBy?: string;
}

/** Next.js itself is not run: it only calls what the file exports. */
const NEXT = `import { serve } from "@hono/node-server";
import { POST } from "./next-route.mjs";

serve({
  fetch: (request) => (request.method === "POST" ? POST(request) : new Response(null, { status: 405 })),
  port: Number(process.env.PORT),
  hostname: "127.0.0.1",
});
`;

export const FRAMEWORKS: readonly Framework[] = [
  { name: "express", file: "express.mjs", module: "express" },
  { name: "fastify", file: "fastify.mjs", module: "fastify" },
  { name: "Hono", file: "hono.mjs", module: "hono" },
  { name: "Next.js", file: "next-route.mjs", module: "@hono/node-server", startedBy: NEXT },
  { name: "NestJS", file: "nest.mjs", module: "@nestjs/core" },
];

/** Installs the frameworks beside the built package, and tries the receivers. @throws where one does something wrong */
export function tryFrameworks(): Promise<Tried[]> {
  return withCopy("receive-node", async (copy) => {
    await output("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], copy, withoutPnpm());
    mkdirSync(join(copy, "node_modules", "@herald"), { recursive: true });
    symlinkSync(join(projectFolder(), "packages", "receiver"), join(copy, "node_modules", "@herald", "receiver"));
    const tried: Tried[] = [];
    for (const { name, file, module, startedBy } of FRAMEWORKS) {
      if (startedBy !== undefined) writeFileSync(join(copy, `start-${file}`), startedBy);
      const started = startedBy === undefined ? file : `start-${file}`;
      await tryReceiver(name, { command: () => [process.execPath, started] }, copy);
      const manifest = readFileSync(join(copy, "node_modules", module, "package.json"), "utf8");
      tried.push({ name, version: `${module} ${(JSON.parse(manifest) as { version: string }).version}` });
    }
    return tried;
  });
}
