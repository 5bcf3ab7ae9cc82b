import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { projectFolder } from "../../src/stack/folders.ts";

// The real command in a clone of this repository, where it may change files. It publishes nothing.
const INSTALL_AND_BUILD_TIMEOUT_MS = 15 * 60_000;

const folder = mkdtempSync(join(tmpdir(), "herald-release-"));
const clone = join(folder, "clone");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a person has: none of what pnpm tells the programs that it runs, such as "dependencies are checked already". */
function plainEnvironment(): NodeJS.ProcessEnv {
  const removed = /^(NODE_OPTIONS|NODE_ENV|INIT_CWD|HERALD_LOCAL_FOLDER)$|^npm_(?!config_(registry|cache))|^pnpm_/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !removed.test(name)));
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  return { ...env, PATH: folders.join(delimiter) };
}

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: clone,
    env: plainEnvironment(),
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`);
  return stdout;
}

function release(...args: string[]): string {
  return run("npx", "-y", "pnpm@12", "release", ...args);
}

beforeAll(() => {
  const cloned = spawnSync("git", ["clone", "--quiet", projectFolder(), clone]);
  expect(cloned.status).toBe(0);
  release("--help");
}, INSTALL_AND_BUILD_TIMEOUT_MS);

test.each([
  ["bench", /^pnpm bench /],
  ["chaos", /^pnpm chaos /],
  ["herald", /^herald: /],
  ["herald doctor", /^herald doctor: /],
  ["db:migrate", /^herald migrate: /],
  ["db:new-migration", /pnpm db:new-migration </],
])("pnpm %s --help answers before anything is built", (command, words) => {
  expect(run("npx", "-y", "pnpm@12", "-s", ...command.split(" "), "--help")).toMatch(words);
  expect(readdirSync(join(clone, "packages/cli"))).not.toContain("dist");
});

test(
  "pnpm release says what it would do, and changes nothing",
  () => {
    expect(release("99.0.0")).toContain("Nothing is changed.");
    expect(run("git", "status", "--porcelain")).toBe("");
  },
  INSTALL_AND_BUILD_TIMEOUT_MS,
);

test(
  "pnpm release --write sets the version everywhere, closes the changelog, and packs packages and chart",
  () => {
    release("99.0.0", "--write", "--no-image");
    const manifests = run("git", "ls-files", "package.json", "*/package.json").trim().split("\n");
    for (const file of manifests) expect(readFileSync(join(clone, file), "utf8")).toContain('"version": "99.0.0"');
    expect(readFileSync(join(clone, "deploy/helm/herald/Chart.yaml"), "utf8")).toMatch(
      /^version: 99\.0\.0\nappVersion: 99\.0\.0$/m,
    );
    expect(readFileSync(join(clone, "CHANGELOG.md"), "utf8")).toMatch(
      /## Unreleased\n\nNothing yet\.\n\n## 99\.0\.0 \(/,
    );

    const packed = readdirSync(join(clone, ".local", "release", "99.0.0"));
    expect(packed).toEqual(
      expect.arrayContaining(
        ["chart", "contracts", "emitter", "receiver"].map((name) =>
          name === "chart" ? "herald-chart-99.0.0.tgz" : `herald-${name}-99.0.0.tgz`,
        ),
      ),
    );
    const inEmitter = run("tar", "-xzOf", `.local/release/99.0.0/herald-emitter-99.0.0.tgz`, "package/package.json");
    expect(JSON.parse(inEmitter)).toMatchObject({ version: "99.0.0", dependencies: { "@herald/contracts": "99.0.0" } });
  },
  INSTALL_AND_BUILD_TIMEOUT_MS,
);
