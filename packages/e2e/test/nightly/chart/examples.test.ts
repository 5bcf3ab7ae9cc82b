import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openSession } from "@herald/common/database/client";
import { migrate } from "@herald/common/database/migrate";
import { type NameServer, nameServer } from "@herald/dev/harness/name-server";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";
import { type Postgres, startPostgres } from "@herald/dev/stack/postgres";
import { removePostgresData } from "@herald/dev/stack/postgres-programs";
import { runToEnd } from "@herald/dev/stack/programs";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { projectFile } from "../operations/project-files.ts";

/** Effects of the commands of the chart's README for servers in the cluster. */
interface ReadMeCommands {
  /** The Secrets that they made, by their names, and what each holds. */
  secrets: Record<string, Record<string, string>>;
  /** The names of the Secrets that were there when the examples were applied. */
  secretsBefore: string[];
  /** The files that were applied. */
  applied: string[];
  /** A file with what was imported into RabbitMQ. */
  definitionsFile: string;
  /** The output of `herald keys make`, as settings. */
  keys: Record<string, string>;
}

/** There is no cluster and no Docker: what these two are asked for is written down, and `herald` is this checkout's. */
const STAND_INS = `
set -euo pipefail
kubectl() { printf '%s\\t' "$@" >> calls; echo >> calls; [ "$3" != exec ] || cat > definitions.json; }
docker() { [ "$1" != run ] || node "$ROOT/packages/cli/dist/main.js" "\${@:4}"; }
openssl() { node --print 'crypto.randomBytes(24).toString("hex")'; }
`;

/** Runs the commands as a person would paste them. @param folder where they may write */
async function runReadMeCommands(folder: string): Promise<ReadMeCommands> {
  const commands = `${shellOf("Image and keys")}\n${shellOf("Servers in the cluster")}`;
  const cwd = folder;
  mkdirSync(join(cwd, "deploy"), { recursive: true });
  cpSync(join(projectFolder(), "deploy", "rabbitmq"), join(cwd, "deploy", "rabbitmq"), { recursive: true });
  await promisify(execFile)("bash", ["-c", STAND_INS + commands], {
    cwd,
    env: { ...process.env, ROOT: projectFolder() },
  });
  const result: ReadMeCommands = {
    secrets: {},
    secretsBefore: [],
    applied: [],
    definitionsFile: join(cwd, "definitions.json"),
    keys: {},
  };
  for (const line of readFileSync(join(cwd, "calls"), "utf8").trim().split("\n")) {
    const [, , verb, ...words] = line.split("\t");
    if (verb === "create") result.secrets[words[2] ?? ""] = literalsOf(words);
    if (verb !== "apply") continue;
    result.secretsBefore = Object.keys(result.secrets);
    result.applied = words.filter((word) => word.endsWith(".yaml"));
  }
  const lines = readFileSync(join(cwd, "herald-keys.env"), "utf8").split("\n");
  for (const [, name = "", value = ""] of lines.flatMap((line) => [/^(\w+)=(.*)$/.exec(line) ?? []])) {
    if (name) result.keys[name] = value;
  }
  return result;
}

/** The first block of commands under a heading of the chart's README. */
function shellOf(heading: string): string {
  const section = projectFile("deploy/helm/herald/README.md").split(`\n## ${heading}\n`)[1] ?? "";
  const [, commands = ""] = /^```sh\n([\s\S]*?)^```$/m.exec(section) ?? [];
  return commands;
}

function literalsOf(words: readonly string[]): Record<string, string> {
  const literals = words.flatMap((word) => [/^--from-literal=([^=]+)=(.*)$/.exec(word) ?? []]);
  return Object.fromEntries(literals.flatMap(([, key, value]) => (key ? [[key, value ?? ""]] : [])));
}

interface Cluster {
  spec: {
    bootstrap: {
      initdb: { owner: string; database: string; secret: { name: string }; postInitApplicationSQL: string[] };
    };
    managed: { roles: { name: string; inRoles?: string[]; passwordSecret: { name: string } }[] };
  };
}
interface RabbitmqCluster {
  metadata: { name: string };
  spec: { rabbitmq: { additionalConfig: string } };
}
interface SecretValue {
  name: string;
  key?: string;
  keys?: Record<string, string>;
}
interface Values {
  secrets: Record<string, SecretValue | Record<"database" | "broker", SecretValue>>;
}
const SERVICES = ["api", "publisher", "dispatcher"] as const;

const example = (name: string): unknown => parse(projectFile(`deploy/helm/examples/${name}`));
const { initdb } = (example("postgres.yaml") as Cluster).spec.bootstrap;
const { roles } = (example("postgres.yaml") as Cluster).spec.managed;
const rabbitmq = example("rabbitmq.yaml") as RabbitmqCluster;

const folder = mkdtempSync(join(tmpdir(), "herald-example-"));
let commands: ReadMeCommands;
let server: Postgres;
let node: RabbitmqNode;
let nameServers: NameServer;

beforeAll(async () => {
  commands = await runReadMeCommands(join(folder, "commands"));
  nameServers = await nameServer();
  const { executable } = await askForRabbitmqServer();
  [server, node] = await Promise.all([
    startPostgres({ folder }),
    startRabbitmqNode(executable, {
      folder: join(folder, "rabbitmq"),
      configuration: rabbitmq.spec.rabbitmq.additionalConfig.trim().split("\n"),
    }),
  ]);
}, STACK_TIMEOUT_MS);
afterAll(async () => {
  await Promise.all([server?.stop(), node?.stop(), nameServers?.close()]);
  removePostgresData(folder);
}, STACK_TIMEOUT_MS);

const secret = (name: string): Record<string, string> => commands.secrets[name] ?? {};

function urlOf(change: { username?: string; password?: string; pathname?: string }): string {
  return Object.assign(new URL(server.url), change).href;
}

async function run(url: string, statements: readonly string[]): Promise<void> {
  const session = await openSession(url, { applicationName: "herald-test" });
  try {
    for (const statement of statements) await session.query(statement);
  } finally {
    await session.close();
  }
}

test("the commands beside the examples make each Secret that the examples want, for the users that they name, before they apply them", () => {
  expect(commands.applied).toEqual(["deploy/helm/examples/postgres.yaml", "deploy/helm/examples/rabbitmq.yaml"]);
  for (const [name, user] of [
    [initdb.secret.name, initdb.owner],
    ...roles.map((role) => [role.passwordSecret.name, role.name]),
  ] as [string, string][]) {
    expect(commands.secretsBefore).toContain(name);
    expect(secret(name)).toEqual({ username: user, password: expect.stringMatching(/^[0-9a-f]{48}$/) });
  }
});

test("the chart's smallest values name Secrets, and keys in them, that these commands and RabbitMQ's operator make", () => {
  const made: Record<string, string[]> = {};
  for (const [name, content] of Object.entries(commands.secrets)) made[name] = Object.keys(content);
  const flat = (values: Values["secrets"]): [string, SecretValue][] =>
    Object.entries(values).flatMap(([what, value]): [string, SecretValue][] =>
      "database" in value
        ? [
            [`${what}.database`, value.database],
            [`${what}.broker`, value.broker],
          ]
        : [[what, value as SecretValue]],
    );
  const defaults = new Map(flat((parse(projectFile("deploy/helm/herald/values.yaml")) as Values).secrets));
  const named = flat((parse(projectFile("deploy/helm/herald/ci/minimal.yaml")) as Values).secrets);
  expect(named).toHaveLength(8);
  for (const [what, { name, key = defaults.get(what)?.key, keys }] of named) {
    const wanted = keys ? Object.values(keys) : [key];
    expect([name, made[name]]).toEqual([name, expect.arrayContaining(wanted)]);
  }
});

test("on the examples, set up in their order with the Secrets of the commands, Herald migrates, and the doctor finds nothing wrong", async () => {
  const here = { pathname: "/application" };
  // CloudNativePG makes the owner and its database, runs this SQL as a superuser, and only then makes the managed roles.
  await run(server.url, [
    `create role ${initdb.owner} login password '${secret(initdb.secret.name).password}'`,
    `create database application owner ${initdb.owner}`,
  ]);
  await run(urlOf(here), initdb.postInitApplicationSQL);
  for (const { name, inRoles = [], passwordSecret } of roles) {
    const groups = inRoles.map((group) => `grant ${group} to ${name}`);
    await run(server.url, [`alter role ${name} login password '${secret(passwordSecret.name).password}'`, ...groups]);
  }
  const owner = secret(initdb.secret.name);
  await migrate(urlOf({ ...here, username: owner.username ?? "", password: owner.password ?? "" }));

  const intruder = secret("herald-postgres-publisher");
  for (const sql of ["create table mine (x int)", "create temporary table mine (x int)"])
    await expect(run(urlOf({ ...here, ...intruder }), [sql])).rejects.toThrow("permission denied");

  await node.control(["import_definitions", commands.definitionsFile]);
  for (const user of SERVICES) {
    const own = secret(`herald-postgres-${user}`);
    const address = new URL(secret(`herald-broker-${user}`).connection_string ?? "");
    expect([address.hostname, address.username]).toEqual([rabbitmq.metadata.name, user]);
    address.host = new URL(node.url).host;
    // As the chart gives it to the doctor: the password is not in the URL.
    const settings: Record<string, string> = {
      DATABASE_URL: urlOf({ ...here, username: own.username ?? "", password: "" }),
      PGPASSWORD: own.password ?? "",
      AMQP_URL: address.href,
      ALLOW_PLAINTEXT: "amqp,postgres",
      DNS_SERVERS: nameServers.address,
    };
    if (user !== "publisher") settings.SECRET_SEALING_KEY = commands.keys.SECRET_SEALING_KEY ?? "";
    if (user === "dispatcher") settings.SECRET_KEYS = secret("herald-secret-keys")["secret-keys"] ?? "";
    const service = user === "api" ? "management-api" : user;
    expect([service, await complaintsOf(settings, service)]).toEqual([service, []]);
  }
});

/** The doctor's complaints. */
async function complaintsOf(settings: Record<string, string>, service: string): Promise<string[]> {
  const main = join(projectFolder(), "packages/cli/dist/main.js");
  const command = [main, "doctor", "--json", "--service", service];
  const { stdout } = await runToEnd(process.execPath, command, { env: settings });
  const { findings } = JSON.parse(stdout) as { findings: { status: string }[] };
  const wrong = findings.filter(({ status }) => status === "fault" || status === "warning");
  return wrong.map((finding) => JSON.stringify(finding));
}

// These tests need no Helm. chart/chart.test.ts renders the chart and compares it with Kubernetes' schemas.

const chartFile = (name: string) => projectFile(`deploy/helm/herald/${name}`);
const values = parse(chartFile("values.yaml")) as Record<string, unknown>;

test("the chart's README names each value", () => {
  const readme = chartFile("README.md");
  expect(leaves(values).filter((path) => !readme.includes(`\`${path}\``))).toEqual([]);
});

test("the chart is of Herald's version", () => {
  const { version } = JSON.parse(projectFile("package.json")) as { version: string };
  expect(parse(chartFile("Chart.yaml"))).toMatchObject({ version, appVersion: version });
});

/** Paths of what can be set; of objects that are handed on as they are, and of references to Secrets, the path of the whole. */
function leaves(node: Record<string, unknown>, path: string[] = []): string[] {
  return Object.entries(node).flatMap(([name, value]) => {
    const own = [...path, name];
    const isWhole =
      typeof value !== "object" || value === null || Array.isArray(value) || name === "resources" || "key" in value;
    const inner = isWhole ? [] : Object.keys(value);
    return inner.length === 0 ? [own.join(".")] : leaves(value as Record<string, unknown>, own);
  });
}
