import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readServeConfig } from "@herald/cli/serve/start-serve";
import { type Environment, readConfig } from "@herald/common/config/read-config";
import type { Settings } from "@herald/common/config/settings";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { eventually } from "@herald/dev/harness/eventually";
import { projectFolder } from "@herald/dev/stack/folders";
import { findOrInstall } from "@herald/dev/stack/install-package";
import { findProgram, runProgram, runToEnd } from "@herald/dev/stack/programs";
import { dispatcherSettings } from "@herald/dispatcher";
import { managementApiSettings, problemsOfManagementApi } from "@herald/management-api";
import { publisherSettings } from "@herald/publisher";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { projectFile, SYSTEMD_FOLDER, unitCommand, unitEnvironment } from "./project-files.ts";

const SYSTEMD = { title: "systemd", apt: "systemd" };
/** systemd's measure of exposure, 0 to 100. Below 50 is OK to it; most services of a Debian have more than 90. */
const MOST_EXPOSURE = "20";

const units = async () =>
  (await readdir(join(projectFolder(), SYSTEMD_FOLDER))).filter((name) => /\.(service|timer)$/.test(name));

/** The units, with programs that exist here. */
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "herald-systemd-"));
  for (const name of await units()) {
    const text = projectFile(`${SYSTEMD_FOLDER}/${name}`);
    await writeFile(
      join(folder, name),
      text.replace(
        /\/opt\/herald\/node\b|\/usr\/bin\/(pg_dump|find)\b|\/usr\/local\/sbin\/herald-check\b/g,
        process.execPath,
      ),
    );
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
  for (const name of ["herald@.service", "herald-migrate.service"]) {
    await analyze("security", "--offline=yes", `--threshold=${MOST_EXPOSURE}`, join(folder, name));
  }
});

test("the units run programs that the build makes, where the page of one machine puts them", async () => {
  for (const name of ["herald@.service", "herald-migrate.service"]) {
    const program = unitCommand(name).find((word) => word.endsWith(".js")) ?? "";
    expect(program).toMatch(/^\/opt\/herald\//);
    const built = join(projectFolder(), program.slice("/opt/herald/".length));
    expect([built, existsSync(built)]).toEqual([built, true]);
  }
  const page = projectFile("docs/operating/one-vm.md");
  for (const name of await units()) expect(page).toContain(name.replace(/@?\.service$/, ""));
});

test("each unit that fails for good notifies a person", async () => {
  for (const name of (await units()).filter((each) => each.endsWith(".service") && each !== "herald-check.service")) {
    expect(projectFile(`${SYSTEMD_FOLDER}/${name}`)).toContain("\nOnFailure=herald-check.service\n");
  }
});

/** An operations port that answers so; the requests' bodies that came. */
async function answering(answers: Record<string, string>): Promise<{ url: string; bodies: string[] }> {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    bodies.push(body);
    const answer = answers[request.url ?? ""];
    response.writeHead(answer === undefined ? 503 : 200, { connection: "close" }).end(answer);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  servers.push(server);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}
const servers: Server[] = [];
afterAll(() => servers.forEach((server) => void server.close()));

/** A program of the machine with other places, as a shell runs it. */
async function runScript(
  name: string,
  places: Record<string, string>,
  { args = [], environment = {} }: { args?: string[]; environment?: Record<string, string> } = {},
): Promise<[code: number, text: string]> {
  let text = projectFile(`${SYSTEMD_FOLDER}/${name}`);
  for (const [place, here] of Object.entries(places)) text = text.replaceAll(place, here);
  const file = join(folder, name);
  writeFileSync(file, text);
  const command = name.endsWith(".mjs") ? process.execPath : (/^#!(.+)/.exec(text)?.[1] ?? "");
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, ...environment };
  const { code, stdout, stderr } = await runToEnd(command, [file, ...args], { env });
  return [code ?? 0, stdout + stderr];
}

test("the herald command of one machine keeps the audit line in the journal, shows it as well, and ends as it ended", async () => {
  writeFileSync(join(folder, "runuser"), `#!/bin/sh\necho '{"audit":true}' >&2\necho "$DATABASE_NAME" >&2\nexit 3\n`, {
    mode: 0o755,
  });
  writeFileSync(join(folder, "logger"), `#!/bin/sh\ncat > ${join(folder, "journal")}\n`, { mode: 0o755 });
  writeFileSync(join(folder, "all.env"), "DATABASE_NAME=herald\n");
  const [code, text] = await runScript("herald", { "/etc/herald": folder });
  expect([code, text]).toEqual([3, '{"audit":true}\nherald\n']);
  await eventually(async () => expect(readFileSync(join(folder, "journal"), "utf8")).toBe('{"audit":true}\n'));
});

describe("herald-check", () => {
  const backup = () => join(folder, "backup");
  const NOTHING_WAITS = 'herald_oldest_due_delivery_age_seconds{waits_for="herald",service="publisher"} 0\n';
  const calm = { "/readyz": "{}", "/metrics": NOTHING_WAITS };
  /** A folder with the settings of services whose operations ports answer so. */
  async function settings(services: Record<string, Record<string, string>>): Promise<string> {
    const etc = await mkdtemp(join(folder, "etc-"));
    await writeFile(join(etc, "operator.env"), "");
    for (const [service, answers] of Object.entries(services)) {
      const { url } = await answering(answers);
      await writeFile(join(etc, `${service}.env`), `LOG_LEVEL=info\nOPERATIONS_PORT=${new URL(url).port}\n`);
    }
    return etc;
  }
  /** A machine with a disk of its own for backups, if it has `backups`. The disk of the one that runs this may be as full as it likes. */
  const check = async (services: Record<string, Record<string, string>>, { backups = false, environment = {} } = {}) =>
    runScript(
      "herald-check",
      {
        "/etc/herald": await settings(services),
        ...(backups && { "/var/lib/herald-backup": backup(), "/var/lib/rabbitmq": folder }),
        "/var/lib/postgresql": backups ? folder : "/nowhere",
        "-lt 85": "-lt 101",
      },
      { environment },
    );
  const makeBackup = () => {
    mkdirSync(backup(), { recursive: true });
    writeFileSync(join(backup(), "herald-2026-01-31T000000Z.dump"), "");
  };

  test("finds nothing where all is well, and notes a backup on the database's disk", async () => {
    makeBackup();
    const found = await check({ all: calm }, { backups: true });
    expect(found).toEqual([0, expect.stringContaining("on the disk of the database")]);
  });

  test("fails with every problem: what is not ready, what waits, what was rejected, and a backup that is late", async () => {
    rmSync(backup(), { recursive: true, force: true });
    const problems: [series: string, value: string, problem: string][] = [
      [
        'oldest_due_delivery_age_seconds{waits_for="herald",service="publisher"}',
        "400",
        "A delivery has waited for Herald for 400 s",
      ],
      ['queue_messages{queue="inbox",service="publisher"}', "1001", "1001 events wait to be stored"],
      ['oldest_event_age_seconds{service="publisher"}', "61", "An event has waited for 61 s to be stored"],
      ['queue_messages{queue="rejected",service="publisher"}', "3", "3 events were rejected"],
      ['oldest_unstored_result_seconds{service="dispatcher"}', "62", "The result of an attempt has waited for 62 s"],
      ['blocking_sessions{service="publisher"}', "1", "Another session has locks that Herald waits for"],
      [
        'endpoints{state="quarantined",service="publisher"}',
        "6",
        "The signing secrets of 6 endpoints cannot be opened",
      ],
      ['shards{state="stopped",service="publisher"}', "256", "Dispatching is stopped"],
      ['partitions_ahead{service="publisher"}', "2", "Only 2 days ahead have partitions"],
      [
        'retention_last_pass_timestamp_seconds{service="publisher"}',
        "1700000000.123",
        "Nothing has been erased for two days",
      ],
    ];
    const ofReceivers = 'herald_oldest_due_delivery_age_seconds{waits_for="receiver",service="publisher"} 9000\n';
    const metrics = problems.map(([series, value]) => `herald_${series} ${value}\n`).join("");
    const [code, text] = await check({ all: { "/metrics": ofReceivers + metrics } }, { backups: true });
    expect(code).toBe(1);
    for (const problem of ["all is not ready", "no backup of the last two days", ...problems.map(([, , each]) => each)])
      expect(text).toContain(problem);
    expect(text).not.toContain("9000");
  });

  const others = { "/readyz": "{}", "/metrics": "herald_build_info 1\n" };
  const saying = (metrics: string) => ({ ...calm, "/metrics": NOTHING_WAITS + metrics });
  const neverErased = (startedAt: number) =>
    saying(
      `process_start_time_seconds{service="publisher"} ${startedAt}\nherald_retention_last_pass_timestamp_seconds{service="publisher"} 0\n`,
    );
  const SILENT = ["Herald's all is not ready", "/metrics of all does not answer"];
  test.each<[string, Record<string, Record<string, string>>, string[]]>([
    ["nothing answers", { all: {} }, SILENT],
    ["/metrics does not answer", { all: { "/readyz": "{}" } }, SILENT.slice(1)],
    ["nothing says what waits", { all: others }, ["/metrics of all does not say what waits"]],
    ["only /readyz does not answer", { all: { "/metrics": NOTHING_WAITS } }, SILENT.slice(0, 1)],
    ["separate services all answer", { publisher: calm, dispatcher: others, "management-api": others }, []],
    ["this machine has dispatchers only", { dispatcher: others }, []],
    ["one is silent", { publisher: calm, dispatcher: {} }, ["dispatcher is not ready", "/metrics of dispatcher does"]],
    [
      "the publisher says too little",
      { publisher: others, dispatcher: others },
      ["/metrics of publisher does not say"],
    ],
    [
      "two say the same",
      {
        publisher: saying("herald_blocking_sessions 1\n"),
        dispatcher: { ...others, "/metrics": "herald_blocking_sessions 1\n" },
      },
      ["Another session has locks"],
    ],
    [
      "a publisher has erased nothing since its start",
      { publisher: neverErased(1_700_000_000) },
      ["Nothing has been erased"],
    ],
    ["a publisher has just started", { publisher: neverErased(Math.floor(Date.now() / 1_000)) }, []],
    ["no service has settings", {}, ["No service of Herald has its settings in"]],
  ])("looks at each service, and says what is wrong with it: %s", async (_, services, problems) => {
    const [code, text] = await check(services);
    expect(code).toBe(problems.length > 0 ? 1 : 0);
    expect(text.split("\n").filter((line) => !/^(curl: .*|)$/.test(line))).toEqual(
      problems.map((problem) => expect.stringContaining(problem)),
    );
  });

  test("as a unit, reports a state once, once more after a day, and its end", async () => {
    makeBackup();
    const told = join(folder, "told");
    const waits = (seconds: number) =>
      `herald_oldest_due_delivery_age_seconds{waits_for="herald",service="publisher"} ${seconds}\n`;
    const look = (metrics: string) =>
      check({ all: saying(metrics) }, { backups: true, environment: { STATE_DIRECTORY: folder } });
    expect(await look("")).toEqual([0, ""]);
    expect(await look(waits(400))).toEqual([1, "A delivery has waited for Herald for 400 s.\n"]);
    expect(await look(waits(1_300.5))).toEqual([0, ""]);
    const yesterday = Date.now() / 1_000 - 25 * 3_600;
    await utimes(told, yesterday, yesterday);
    expect(await look(waits(90_000))).toEqual([1, "A delivery has waited for Herald for 90000 s.\n"]);
    expect(await look(waits(90_900))).toEqual([0, ""]);
    const more = `${waits(400)}herald_shards{state="stopped",service="publisher"} 256\n`;
    expect(await look(more)).toEqual([1, expect.stringMatching(/400 s\.\nDispatching is stopped/)]);
    expect(await look("")).toEqual([1, "All problems are over.\n"]);
    await utimes(told, yesterday, yesterday);
    expect(await look("")).toEqual([0, ""]);
  });

  test("fails where a disk is nearly full", async () => {
    const places = { "/etc/herald": await settings({ all: calm }), "/var/lib/postgresql": folder, "-lt 85": "-lt 0" };
    expect(await runScript("herald-check", places)).toEqual([1, expect.stringContaining("% full")]);
  });

  test("as a unit, posts its news with units that have failed, and again by the next run if no server takes it", async () => {
    const { url, bodies } = await answering({ "/hook": "ok" });
    const etc = await settings({ all: calm });
    const places = {
      "/etc/herald": etc,
      "/opt/herald/node": process.execPath,
      "/var/lib/postgresql": "/nowhere",
      "-lt 85": "-lt 101",
      "systemctl list": "failed-units list",
    };
    const failedUnits = "#!/bin/sh\necho herald-backup.service loaded failed\n";
    writeFileSync(join(folder, "failed-units"), failedUnits, { mode: 0o755 });
    const look = () => runScript("herald-check", places, { environment: { STATE_DIRECTORY: etc } });
    writeFileSync(join(etc, "alarm-url"), `${url}/elsewhere\n`);
    expect(await look()).toEqual([1, expect.stringContaining("answered 503")]);
    writeFileSync(join(etc, "alarm-url"), `${url}/hook\n`);
    const failed = "herald-backup.service has failed. Look at: journalctl --unit herald-backup.service";
    expect(await look()).toEqual([0, `${failed}\n`]);
    expect(await look()).toEqual([0, ""]);
    expect(bodies).toHaveLength(2);
    expect(JSON.parse(bodies[1] ?? "").text).toMatch(new RegExp(`^Herald on .*: ${failed}$`));
  });
});

test.each([
  [
    "management-api",
    managementApiSettings,
    (environment: Environment) => readConfig(managementApiSettings, environment, problemsOfManagementApi),
  ],
  ["publisher", publisherSettings, (environment: Environment) => readConfig(publisherSettings, environment)],
  ["dispatcher", dispatcherSettings, (environment: Environment) => readConfig(dispatcherSettings, environment)],
] as const)(
  "the page about machines without containers gives %s its settings and secrets, and none more",
  (service, known, read) => {
    const page = projectFile("docs/operating/deploy.md");
    const [, text = ""] = new RegExp(`keep ${service}\\.env 0600 root <<'END'\n(.*?)\n +END`, "s").exec(page) ?? [];
    const environment = Object.fromEntries(text.split("\n").map((line) => line.trim().split("=") as [string, string]));
    const names = Object.keys(environment).map((name) => name.replace(/_FILE$/, ""));
    expect(names.filter((name) => !Object.hasOwn(known, name))).toEqual([]);
    const needed = Object.entries(known as Settings).filter(([, { required }]) => required);
    expect(names).toEqual(expect.arrayContaining(needed.map(([name]) => name)));
    const secrets = {
      DATABASE_URL: "postgres://herald_publisher:a-password@127.0.0.1:5432/herald",
      AMQP_URL: "amqp://publisher:a-password@127.0.0.1:5672/herald",
      ...newSealingKeys("k1"),
    };
    const plain = Object.entries(environment).filter(([name]) => !name.endsWith("_FILE"));
    const given = Object.entries(secrets).filter(([name]) => names.includes(name));
    expect(read(Object.fromEntries([...plain, ...given]))).toMatchObject({ HERALD_ENV: "production" });
    expect(unitCommand("herald@.service").slice(-2)).toEqual(["serve", "%i"]);
  },
);

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
