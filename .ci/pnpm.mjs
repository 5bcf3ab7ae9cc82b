// Runs the pnpm that package.json pins: node .ci/pnpm.mjs <what pnpm is told>
// Fetched with npm once, held to the hash in package.json, and kept in .local/pnpm. CI, the image and releases use it;
// people may use any pnpm 12. A new version: write it into package.json, run this, and take the hash that it names.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const [, version, hash] = /^pnpm@([\d.]+)\+sha512\.(.*)$/.exec(packageManager) ?? [];
if (version === undefined)
  fail(`packageManager in package.json is "${packageManager}", and not pnpm@x.y.z+sha512.<hex>.`);

const folder = join(root, ".local", "pnpm", `${version}-${hash.slice(0, 12)}`);
if (!existsSync(folder)) install();
const programs = join(folder, "node_modules", ".bin");
const { status, error } = spawnSync(join(programs, "pnpm"), process.argv.slice(2), {
  stdio: "inherit",
  // Scripts that pnpm runs call pnpm again.
  env: { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH}` },
});
if (error) fail(`pnpm ${version} does not run: ${error.message}`);
process.exit(status ?? 1);

/** Puts it into its folder, whole or not at all. */
function install() {
  const parent = join(folder, "..");
  mkdirSync(parent, { recursive: true });
  const draft = mkdtempSync(join(parent, "draft-"));
  const npm = (...args) =>
    execFileSync("npm", [...args, "--loglevel=error"], { cwd: draft, stdio: ["ignore", "pipe", 2] });
  try {
    npm("pack", `pnpm@${version}`, "--ignore-scripts");
    const archive = `pnpm-${version}.tgz`;
    const found = createHash("sha512")
      .update(readFileSync(join(draft, archive)))
      .digest("hex");
    if (found !== hash) {
      rmSync(draft, { recursive: true });
      fail(
        `The registry's pnpm ${version} is not the one that package.json pins. It is not run.\n` +
          `Its hash is sha512.${found}\nIf you have just changed the version, write this hash there; if not, find out what changed.`,
      );
    }
    npm("install", "--prefix", draft, "--no-save", "--no-audit", "--no-fund", join(draft, archive));
    renameSync(draft, folder);
  } catch (problem) {
    // Another process has installed it meanwhile.
    if (!existsSync(folder)) fail(`pnpm ${version} could not be installed with npm: ${problem.message}`);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
