import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// Runs a command of this checkout: [--build] and the path of its source without .ts; the rest is the command's own. Plain JavaScript,
// so that it can show the command's help, and say what to do, before anything is built.
const root = fileURLToPath(new URL("../../../", import.meta.url));
const mayBuild = process.argv[2] === "--build";
const [source = ""] = process.argv.splice(2, mayBuild ? 2 : 1).slice(-1);
const built = join(root, `${source.replace("/src/", "/dist/")}.js`);

if (process.argv.slice(2).some((argument) => argument === "--help" || argument === "-h")) {
  // Where the source has it as one text, nothing needs to be installed to show it.
  const [, help] = /^const HELP = `([^`]*)`;$/m.exec(readFileSync(join(root, `${source}.ts`), "utf8")) ?? [];
  if (help === undefined || help.includes("${")) process.exitCode = askSource();
  else console.log(help);
} else {
  if (mayBuild) build();
  // The bench is no part of the build.
  if (source.startsWith("lab/")) run("pnpm", ["exec", "tsc", "-b", "lab"]);
  // The herald command is for the Herald that runs here, unless its caller's environment says otherwise.
  const runFile = join(process.env.HERALD_LOCAL_FOLDER || join(root, ".local"), "run.json");
  if (source === "packages/cli/src/main" && existsSync(runFile))
    process.env = { ...JSON.parse(readFileSync(runFile, "utf8")).settings, ...process.env };
  if (existsSync(built)) {
    // As if the command had been started itself.
    process.argv[1] = built;
    await import(built);
  } else {
    console.error(`Herald does not run here: nothing is built yet. Start it with "pnpm start".`);
    process.exitCode = 1;
  }
}

/** Has the command's own source show its help. Node reads TypeScript; only the database client has to be there. */
function askSource() {
  run("pnpm", ["--silent", "run", "generate"], ["ignore", "ignore", "inherit"]);
  const args = ["--conditions=herald-source", join(root, `${source}.ts`), ...process.argv.slice(2)];
  return spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1;
}

/** Builds everything, unless the last build was of the same sources. */
function build() {
  const stamp = join(root, "node_modules", ".herald-built");
  const files = readdirSync(root).filter((name) => /^(tsconfig.*|package|pnpm-.*)\.(json|yaml)$/.test(name));
  const hash = createHash("sha256");
  for (const name of [...files, "packages", "services", "prisma"]) addTo(hash, join(root, name));
  const sources = hash.digest("hex");
  if (existsSync(built) && existsSync(stamp) && readFileSync(stamp, "utf8") === sources) return;
  console.error("Building ...");
  run("pnpm", ["--silent", "run", "build"]);
  writeFileSync(stamp, sources);
}

/** Ends this process where it fails. */
function run(program, args, stdio = ["ignore", "inherit", "inherit"]) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio });
  if (status === 0) return;
  // What ran has said why it failed.
  if (error) console.error(`${program} can't be run: ${error.message}. Start this by pnpm.`);
  process.exit(1);
}

/** Adds the name and the time of a file, or of all files in a folder, but for those that the build makes. */
function addTo(hash, path) {
  const file = statSync(path);
  if (!file.isDirectory()) return hash.update(`${path} ${file.mtimeMs}\n`);
  for (const name of readdirSync(path)) {
    if (!["node_modules", "dist", "generated"].includes(name)) addTo(hash, join(path, name));
  }
}
