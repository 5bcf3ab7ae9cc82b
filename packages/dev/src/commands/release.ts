import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { mayFollow, withRelease, withVersion } from "../release/versions.ts";
import { localFolder, projectFolder } from "../stack/folders.ts";
import { runCommand, UsageError } from "./run-command.ts";

const HELP = `Prepares a release: sets the version everywhere, closes the changelog, packs what others install.

  pnpm release <version> [--write] [--no-image]

  --write      does it; without it, the command only says what it would do
  --no-image   leaves out the image

It commits nothing and publishes nothing. At the end it says what is left to do.`;

const root = projectFolder();
const CHART = "deploy/helm/herald";

await runCommand(HELP, async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      write: { type: "boolean" },
      "no-image": { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  const version = positionals[0] ?? "";
  const current = manifest("package.json").version;
  if (!mayFollow(version, current)) {
    throw new UsageError(
      `Which version? It is a semantic version after ${current}, such as 1.2.3; "${version}" is none.`,
    );
  }
  const dirty = run("git", ["status", "--porcelain"]);
  if (dirty !== "") throw new Error(`A release is made of what is committed. These files differ:\n${dirty}`);

  const files = run("git", ["ls-files", "package.json", "*/package.json", `${CHART}/Chart.yaml`])
    .trim()
    .split("\n");
  const published = files.filter((file) => file.endsWith(".json") && !manifest(file).private).map(dirname);
  const changelog = withRelease(read("CHANGELOG.md"), version, new Date().toISOString().slice(0, 10));
  console.log(`Version ${version} after ${current}, in ${files.length} files and CHANGELOG.md.`);
  console.log(`Packages: ${published.map((folder) => manifest(`${folder}/package.json`).name).join(", ")}.`);
  if (!values.write) {
    console.log("Nothing is changed. With --write it is done.");
    return;
  }
  for (const file of files) write(file, withVersion(file, read(file), version));
  write("CHANGELOG.md", changelog);
  const out = join(localFolder(), "release", version);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const folder of published) pnpm(["--dir", folder, "pack", "--pack-destination", out]);
  // What "helm package" writes, without the need for Helm.
  run("tar", ["-czf", join(out, `herald-chart-${version}.tgz`), "-C", dirname(CHART), "herald"]);
  const image = values["no-image"] ? "left out" : makeImage(version, out);
  console.log(`
Made in ${out}: packages and chart. Image: ${image}.

Left to do:
  pnpm run docs && .ci/run && .ci/nightly
  git commit --all --message "release: ${version}" && git tag v${version} && git push --follow-tags
  publish the packages (pnpm publish FILE.tgz), push the image and the chart;
  name the image by the digest that the registry gives it: image.digest of the chart's values.
  Base images are pinned by digest, and pnpm by its hash: newer ones are changes of their own, before a release`);
});

/** With Docker the image itself, else the files that it would hold. */
function makeImage(version: string, out: string): string {
  if (hasDockerEngine()) {
    run("docker", ["build", "--file", "deploy/docker/Dockerfile", "--tag", `herald:${version}`, "."]);
    return `herald:${version}`;
  }
  run("deploy/docker/assemble.sh", [join(out, "image")]);
  return `its files, in ${join(out, "image")}, since no Docker engine is here to build it`;
}

/** The client alone builds nothing. */
function hasDockerEngine(): boolean {
  return spawnSync("docker", ["version", "--format", "{{.Server.Version}}"]).status === 0;
}

function manifest(file: string): { name: string; version: string; private?: boolean } {
  return JSON.parse(read(file)) as { name: string; version: string; private?: boolean };
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

function write(file: string, text: string): void {
  writeFileSync(join(root, file), text);
}

function pnpm(args: string[]): void {
  run(process.execPath, [".ci/pnpm.mjs", ...args]);
}

function run(command: string, args: string[]): string {
  return execFileSync(command, args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}
