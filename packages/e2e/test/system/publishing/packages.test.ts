import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { projectFolder } from "@herald/testkit/stack/folders";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { publint } from "publint";
import { EMITTER_EXAMPLE, RECEIVER_EXAMPLE } from "./consumer.ts";

// The packages that others install, as they would get them: packed, installed by npm into an empty folder, used as their
// READMEs say.

const PACKAGES = ["amqp", "contracts", "emitter", "receiver"];
const INSTALL_TIMEOUT_MS = 240_000;

const broker = useBroker();
const db = useDatabase({ migrated: false });
const folder = mkdtempSync(join(tmpdir(), "herald-consumer-"));
const packed = join(folder, "packed");
const consumer = join(folder, "consumer");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function run(
  cwd: string,
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  try {
    return (await promisify(execFile)(command, args, { cwd, env })).stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

/** What a consumer has: none of what pnpm tells the programs that it runs. */
function plainEnvironment(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_config_(?!registry|cache)|NODE_OPTIONS|INIT_CWD)/i.test(name),
  );
  return { ...Object.fromEntries(own), ...more };
}

function versionOf(dependency: string): string {
  const catalog = readFileSync(join(projectFolder(), "pnpm-workspace.yaml"), "utf8");
  return new RegExp(`^ +"?${dependency}"?: (\\S+)$`, "m").exec(catalog)?.[1] ?? "";
}

beforeAll(async () => {
  mkdirSync(packed);
  mkdirSync(consumer);
  for (const name of PACKAGES) {
    const args = ["-y", "pnpm@12", "pack", "--pack-destination", packed];
    await run(join(projectFolder(), "packages", name), "npx", args);
  }
  const tarballs = readdirSync(packed).map((name) => join(packed, name));
  const others = ["express", "pg", "typescript", "@types/node", "@types/express", "@types/pg"];
  writeFileSync(join(consumer, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
  const wanted = [...tarballs, ...others.map((name) => `${name}@${versionOf(name)}`)];
  await run(consumer, "npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", ...wanted], plainEnvironment());
  writeFileSync(
    join(consumer, "tsconfig.json"),
    JSON.stringify({
      // Declarations are checked too: they are part of what is published.
      compilerOptions: {
        module: "NodeNext",
        target: "ES2022",
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        types: ["node"],
        outDir: "out",
        rootDir: ".",
      },
      include: ["*.ts"],
    }),
  );
  writeFileSync(join(consumer, "emits.ts"), EMITTER_EXAMPLE);
  writeFileSync(join(consumer, "receives.ts"), RECEIVER_EXAMPLE);
}, INSTALL_TIMEOUT_MS);

test.each(PACKAGES)("%s is installed whole, and needs no condition and no part of the workspace", (name) => {
  const installed = join(consumer, "node_modules", "@herald", name);
  const text = readFileSync(join(installed, "package.json"), "utf8");
  const manifest = JSON.parse(text) as { dependencies?: Record<string, string>; private?: boolean; license?: string };
  expect(text).not.toMatch(/herald-source|workspace:|catalog:/);
  expect(manifest).toMatchObject({ publishConfig: { provenance: true }, license: expect.any(String) });
  expect(manifest.private).toBeUndefined();
  const dependencies = Object.keys(manifest.dependencies ?? {});
  expect(dependencies.filter((each) => !["@herald/amqp", "@herald/contracts", "amqplib"].includes(each))).toEqual([]);
  const files = readdirSync(installed, { recursive: true, encoding: "utf8" });
  expect(files).toContain("README.md");
  expect(files.filter((file) => /\.test\.|^src|\.map$|tsbuildinfo/.test(file))).toEqual([]);
});

test.each(PACKAGES)("publint finds nothing in %s", async (name) => {
  const { messages } = await publint({
    pkgDir: join(consumer, "node_modules", "@herald", name),
    pack: false,
    strict: true,
  });
  // Where it is developed is for whoever publishes it to say.
  expect(messages.filter(({ type }) => type !== "suggestion")).toEqual([]);
});

test(
  "a consumer type-checks, and compiles",
  async () => {
    await run(consumer, "node_modules/.bin/tsc", ["-p", "."], plainEnvironment());
  },
  INSTALL_TIMEOUT_MS,
);

test("the emitter's README works: events reach the exchange, directly and by the outbox", async () => {
  const env = plainEnvironment({ AMQP_URL: broker.url, DATABASE_URL: db.url });
  const seen = JSON.parse(await run(consumer, process.execPath, ["out/emits.js"], env)) as { type: string }[];
  expect(seen.map(({ type }) => type)).toEqual(["WorkItemCompleted", "WorkItemCompleted"]);
});

test("the receiver's README works: it verifies, refuses and accepts once", async () => {
  const env = plainEnvironment({ DATABASE_URL: db.url, WEBHOOK_SECRET: "a secret" });
  expect(JSON.parse(await run(consumer, process.execPath, ["out/receives.js"], env))).toEqual({
    statuses: [204, 401, 204, 204],
    saved: ["WorkItemCompleted"],
    inbox: 1,
    refused: "signature_mismatch",
  });
});

test("herald-listen starts", async () => {
  const said = await run(consumer, "node_modules/.bin/herald-listen", ["--help"], plainEnvironment());
  expect(said).toContain("herald-listen");
});
