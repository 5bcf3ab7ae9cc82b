import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@herald/common/database/migrate";
import { openSession } from "@herald/common/database/session";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { projectFolder } from "@herald/testkit/stack/folders";
import { type Postgres, startPostgres } from "@herald/testkit/stack/postgres";
import { removePostgresData } from "@herald/testkit/stack/postgres-programs";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/testkit/stack/rabbitmq-node";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { projectFile } from "../operations/queries.ts";
import { type ReadMeCommands, runReadMeCommands } from "./read-me-commands.ts";

interface Cluster {
  spec: {
    bootstrap: {
      initdb: { owner: string; database: string; secret: { name: string }; postInitApplicationSQL: string[] };
    };
    managed: { roles: { name: string; inRoles: string[]; passwordSecret: { name: string } }[] };
  };
}
interface RabbitmqCluster {
  metadata: { name: string };
  spec: { rabbitmq: { additionalConfig: string } };
}
interface Values {
  secrets: Record<string, { name: string; key?: string; keys?: Record<string, string> }>;
}

const example = (name: string): unknown => parse(projectFile(`deploy/helm/examples/${name}`));
const { initdb } = (example("postgres.yaml") as Cluster).spec.bootstrap;
const { roles } = (example("postgres.yaml") as Cluster).spec.managed;
const rabbitmq = example("rabbitmq.yaml") as RabbitmqCluster;

/** As RabbitMQ's operator 2.16 makes it (internal/resource/default_user_secret.go). */
const BROKER_SECRET = `${rabbitmq.metadata.name}-default-user`;

const folder = mkdtempSync(join(tmpdir(), "herald-example-"));
let commands: ReadMeCommands;
let server: Postgres;
let node: RabbitmqNode;

beforeAll(async () => {
  commands = await runReadMeCommands(join(folder, "commands"));
  const { executable } = await askForRabbitmqServer();
  const pidFolder = join(folder, "pids");
  [server, node] = await Promise.all([
    startPostgres({ folder, pidFolder }),
    startRabbitmqNode(executable, {
      folder: join(folder, "rabbitmq"),
      pidFolder,
      configuration: rabbitmq.spec.rabbitmq.additionalConfig.trim().split("\n"),
    }),
  ]);
}, STACK_TIMEOUT_MS);
afterAll(async () => {
  await Promise.all([server?.stop(), node?.stop()]);
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
  expect(commands.applied).toEqual(["postgres.yaml", "rabbitmq.yaml"]);
  for (const [name, user] of [
    [initdb.secret.name, initdb.owner],
    ...roles.map((role) => [role.passwordSecret.name, role.name]),
  ] as [string, string][]) {
    expect(commands.secretsBefore).toContain(name);
    expect(secret(name)).toEqual({ username: user, password: expect.stringMatching(/^[0-9a-f]{48}$/) });
  }
});

test("the chart's smallest values name Secrets, and keys in them, that these commands and RabbitMQ's operator make", () => {
  const made: Record<string, string[]> = { [BROKER_SECRET]: ["username", "password", "connection_string"] };
  for (const [name, content] of Object.entries(commands.secrets)) made[name] = Object.keys(content);
  const defaults = (parse(projectFile("deploy/helm/herald/values.yaml")) as Values).secrets;
  const { secrets } = parse(projectFile("deploy/helm/herald/ci/minimal.yaml")) as Values;
  expect(Object.keys(secrets)).toEqual(["database", "databaseOwner", "broker", "secretKeys"]);
  for (const [what, { name, key = defaults[what]?.key, keys }] of Object.entries(secrets)) {
    const wanted = keys ? Object.values(keys) : [key];
    expect([name, made[name]]).toEqual([name, expect.arrayContaining(wanted)]);
  }
});

test("on the examples, set up in their operators' order with the Secrets of the commands, Herald migrates, and the doctor finds nothing wrong", async () => {
  const here = { pathname: "/application" };
  // CloudNativePG makes the owner and its database, runs this SQL as a superuser, and only then makes the managed roles.
  await run(server.url, [
    `create role ${initdb.owner} login password '${secret(initdb.secret.name).password}'`,
    `create database application owner ${initdb.owner}`,
  ]);
  await run(urlOf(here), initdb.postInitApplicationSQL);
  for (const { name, inRoles, passwordSecret } of roles) {
    const groups = inRoles.map((group) => `grant ${group} to ${name}`);
    await run(server.url, [`alter role ${name} login password '${secret(passwordSecret.name).password}'`, ...groups]);
  }
  const owner = secret(initdb.secret.name);
  await migrate(urlOf({ ...here, username: owner.username ?? "", password: owner.password ?? "" }));

  const app = secret("herald-postgres-app");
  await expect(run(urlOf({ ...here, ...app }), ["create table mine (x int)"])).rejects.toThrow("permission denied");

  // RabbitMQ's operator has the broker make this user, an administrator, at its first start; there is no guest then.
  const [username, password] = [
    `default_user_${randomBytes(8).toString("hex")}`,
    randomBytes(24).toString("base64url"),
  ];
  await node.control(["add_user", username, password]);
  await node.control(["set_user_tags", username, "administrator"]);
  await node.control(["set_permissions", username, ".*", ".*", ".*"]);
  await node.control(["delete_user", "guest"]);
  const connectionString = `amqp://${username}:${password}@${new URL(node.url).host}/`;

  // As the chart says it to the doctor: the password apart from the URL.
  const complaints = await complaintsOf({
    DATABASE_URL: urlOf({ ...here, username: app.username ?? "", password: "" }),
    PGPASSWORD: app.password ?? "",
    AMQP_URL: connectionString,
    SECRET_KEYS: secret("herald-secret-keys")["secret-keys"] ?? "",
    SECRET_SEALING_KEY: commands.keys.SECRET_SEALING_KEY ?? "",
    ALLOW_PLAINTEXT: "amqp,postgres",
  });
  expect(complaints).toEqual([]);
});

/** What the doctor complains about. */
function complaintsOf(settings: Record<string, string>): Promise<string[]> {
  const main = join(projectFolder(), "packages/cli/dist/main.js");
  return new Promise((resolve) => {
    execFile(process.execPath, [main, "doctor", "--json"], { env: settings }, (_error, stdout) => {
      const { findings } = JSON.parse(stdout) as { findings: { status: string }[] };
      resolve(
        findings
          .filter(({ status }) => status === "fault" || status === "warning")
          .map((finding) => JSON.stringify(finding)),
      );
    });
  });
}
