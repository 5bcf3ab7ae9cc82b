import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// Runs a command of this checkout: [--build] and the path of its source without .ts; the rest is the command's own. Plain JavaScript,
// so that it can show the command's help, which stands beside the source, and say what to do, before anything is built.
const root = fileURLToPath(new URL("../../../", import.meta.url));
const mayBuild = process.argv[2] === "--build";
const [source = ""] = process.argv.splice(2, mayBuild ? 2 : 1).slice(-1);
const built = join(root, `${source.replace("/src/", "/dist/")}.js`);

if (process.argv.slice(2).some((argument) => argument === "--help" || argument === "-h")) {
  process.stdout.write(readFileSync(join(root, `${source}.txt`), "utf8"));
} else {
  if (mayBuild) build();
  if (existsSync(built)) {
    // As if the command had been started itself.
    process.argv[1] = built;
    await import(built);
  } else {
    console.error(`Herald does not run here: nothing is built yet. Start it with "pnpm start".`);
    process.exitCode = 1;
  }
}

/** Builds everything, unless its sources are those of the last build. */
function build() {
  const stamp = join(root, "node_modules", ".herald-built");
  const files = readdirSync(root).filter((name) => /^(tsconfig.*|package|pnpm-.*)\.(json|yaml)$/.test(name));
  const hash = createHash("sha256");
  for (const name of [...files, "packages", "services", "prisma"]) addTo(hash, join(root, name));
  const sources = hash.digest("hex");
  if (existsSync(built) && existsSync(stamp) && readFileSync(stamp, "utf8") === sources) return;
  console.error("Building ...");
  try {
    execFileSync("pnpm", ["--silent", "run", "build"], { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  } catch (error) {
    // What ran has said why it failed.
    if (error.status == null) console.error(`pnpm can't be run: ${error.message}. Start this by pnpm.`);
    process.exit(1);
  }
  writeFileSync(stamp, sources);
}

/** Adds the name and the time of a file, or of all files in a folder, but for those that the build makes. */
function addTo(hash, path) {
  const file = statSync(path);
  if (!file.isDirectory()) return hash.update(`${path} ${file.mtimeMs}\n`);
  for (const name of readdirSync(path)) {
    if (!["node_modules", "dist", "generated"].includes(name)) addTo(hash, join(path, name));
  }
}
