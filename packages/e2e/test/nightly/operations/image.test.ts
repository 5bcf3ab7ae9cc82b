import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { useDatabase } from "@herald/dev/harness/use-database";
import { projectFolder } from "@herald/dev/stack/folders";
import { runProgram } from "@herald/dev/stack/programs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { useTestEnvironment } from "../../journeys/test-environment.ts";
import { projectFile } from "./project-files.ts";

// No Docker engine: the files that the Dockerfile copies into the image are made and run here. What only Docker could show is in
// "What has been run, and what has not" of docs/operating/deploy.md.
const app = mkdtempSync(join(tmpdir(), "herald-image-"));
const environment = useTestEnvironment({ dispatcher: false, publisher: false });
// Without any table: the image's own migration makes them.
const empty = useDatabase({ migrated: false });

beforeAll(async () => {
  const assemble = join(projectFolder(), "deploy/docker/assemble.sh");
  await runProgram(assemble, [app], { what: "Assembling the image's files", timeoutMs: 600_000 });
}, 600_000);
afterAll(() => rmSync(app, { recursive: true, force: true }));

function run(command: string, env: Record<string, string> = {}): Promise<string> {
  const main = join(app, "packages/cli/dist/main.js");
  return runProgram(process.execPath, [main, command], { what: `${command} of the image's files`, env });
}

test("the image's entry point is herald, and it has the commands that the Compose file and the Dockerfile's examples name", async () => {
  const dockerfile = projectFile("deploy/docker/Dockerfile");
  expect(dockerfile).toContain('\nENTRYPOINT ["node", "--enable-source-maps", "packages/cli/dist/main.js"]\n');
  const { services } = parse(projectFile("docker-compose.yml"), { merge: true }) as {
    services: Record<string, { image: string; command?: string[] }>;
  };
  const ofCompose = Object.values(services).filter(({ image }) => image === "herald");
  const examples = [...dockerfile.matchAll(/^# +docker run herald (\S+)/gm)].map(([, command]) => command);
  expect(examples).toHaveLength(4);
  const help = await run("help");
  for (const command of new Set([...ofCompose.map(({ command = [] }) => command[0]), ...examples])) {
    if (command !== "help") expect(help).toContain(`\n  ${command} `);
  }
});

test("the image's program is a user by number who is not root", () => {
  expect(projectFile("deploy/docker/Dockerfile")).toMatch(/\nUSER 1000:1000\nEXPOSE [\d ]+\nENTRYPOINT /);
});

test("the image holds no compiled code, so that it runs on another base than it was built on, no sources, no tests and no link to nowhere", () => {
  const files = readdirSync(app, { recursive: true, encoding: "utf8" });
  expect(files.length).toBeGreaterThan(1_000);
  expect(files.filter((file) => /\.(node|so|dll|dylib)$/.test(file))).toEqual([]);
  expect(files.filter((file) => !existsSync(join(app, file)))).toEqual([]);
  const ofHerald = files.filter((file) => /^(packages|services)\//.test(file) && !file.includes("node_modules/"));
  expect(ofHerald.filter((file) => /\.tsx?$|\.tsbuildinfo$|\.test\.js$/.test(file))).toEqual([]);
});

test("the image's files migrate, and serve all three services: an event arrives", async () => {
  const { api, receiver, emitter } = environment;
  expect(await run("migrate", { HERALD_ENV: "development", DATABASE_URL: empty.url })).toMatch(/appl/i);
  await api.create({ url: receiver.url });
  await environment.startProcess("serve", {}, { folder: app });
  await emitter.emit(environment.event());
  await receiver.received(1);
});
