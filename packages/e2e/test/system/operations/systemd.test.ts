import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readServeConfig } from "@herald/cli/serve/start-serve";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { projectFolder } from "@herald/testkit/stack/folders";
import { findOrInstall } from "@herald/testkit/stack/install-package";
import { findProgram, runProgram } from "@herald/testkit/stack/programs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { projectFile } from "./queries.ts";
import { SYSTEMD_FOLDER, unitCommand, unitEnvironment } from "./systemd-unit.ts";

const SYSTEMD = { title: "systemd", apt: "systemd", brew: [] };
/** Of what systemd calls exposure, 0 to 100. Below 50 is OK to it; most services of a Debian have more than 90. */
const MOST_EXPOSURE = "20";

const units = async () =>
  (await readdir(join(projectFolder(), SYSTEMD_FOLDER))).filter((name) => /\.(service|timer)$/.test(name));

/** The units, with programs that exist here. */
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "herald-systemd-"));
  for (const name of await units()) {
    const text = projectFile(`${SYSTEMD_FOLDER}/${name}`);
    await writeFile(join(folder, name), text.replace(/\/usr\/bin\/(node|pg_dump|find)\b/g, process.execPath));
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function analyze(...args: string[]): Promise<string> {
  const program = findOrInstall(SYSTEMD, "Tests of the systemd units", () => findProgram("systemd-analyze"));
  return program.then((executable) => runProgram(executable, args, { what: `systemd-analyze ${args[0]}` }));
}

test("systemd understands every line of the units", async () => {
  for (const name of await units()) {
    await analyze("verify", "--man=no", "--recursive-errors=no", join(folder, name));
  }
});

test("systemd calls the exposure of Herald and of its migration OK", async () => {
  for (const name of ["herald.service", "herald-migrate.service"]) {
    await analyze("security", "--offline=yes", `--threshold=${MOST_EXPOSURE}`, join(folder, name));
  }
});

test("the units run programs that the build makes, where the page of one machine puts them", async () => {
  for (const name of ["herald.service", "herald-migrate.service"]) {
    const program = unitCommand(name).find((word) => word.endsWith(".js")) ?? "";
    expect(program).toMatch(/^\/opt\/herald\//);
    const built = join(projectFolder(), program.slice("/opt/herald/".length));
    expect([built, existsSync(built)]).toEqual([built, true]);
  }
  const page = projectFile("docs/operating/one-vm.md");
  for (const name of await units()) expect(page).toContain(name.replace(/\.service$/, ""));
});

test("the units' settings are settings of the services, and safe in production once their secrets are there", () => {
  const environment = unitEnvironment();
  const secrets = {
    DATABASE_URL: "postgres://herald_app:a-password@127.0.0.1:5432/herald",
    AMQP_URL: "amqp://herald:a-password@127.0.0.1:5672/herald",
    ...newSealingKeys("k1"),
    AUTH_JWT_SECRET: randomBytes(32).toString("base64"),
  };
  const { HERALD_ENV, ...config } = readServeConfig({ ...environment, ...secrets });
  expect(HERALD_ENV).toBe("production");
  for (const [name, value] of Object.entries(environment)) {
    if (name.endsWith("_FILE") && name.slice(0, -"_FILE".length) in secrets) expect(value).toMatch(/^\/etc\/herald\//);
    else expect([name, String(config[name as keyof typeof config])]).toEqual([name, value]);
  }
});
