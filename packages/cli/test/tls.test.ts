import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { declareTopology } from "@herald/common/broker/topology";
import { makeAuthority } from "@herald/dev/certificates/authority";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { type Postgres, startPostgres } from "@herald/dev/stack/postgres";
import { removePostgresData } from "@herald/dev/stack/postgres-programs";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import type { NamedFinding } from "../src/doctor/finding.ts";
import { callHerald } from "./run-herald.ts";

const databaseFolder = mkdtempSync(join(tmpdir(), "herald-cli-database-"));
const brokerFolder = mkdtempSync(join(tmpdir(), "herald-cli-broker-"));
const ownCa = join(brokerFolder, "own.pem");
const otherCa = join(brokerFolder, "other.pem");
let postgres: Postgres;
let node: RabbitmqNode;

beforeAll(async () => {
  const authority = await makeAuthority("The company's own");
  writeFileSync(ownCa, authority.cert);
  writeFileSync(otherCa, (await makeAuthority("Another one")).cert);
  const tls = await authority.issue({ names: ["localhost", "127.0.0.1"] });
  const { executable } = await askForRabbitmqServer();
  const start = { disposable: true, tls };
  postgres = await startPostgres({ ...start, folder: databaseFolder, pidFolder: join(brokerFolder, "pids") });
  node = await startRabbitmqNode(executable, {
    ...start,
    folder: brokerFolder,
    pidFolder: join(brokerFolder, "pids"),
  });
  const connection = await connect(node.url);
  await declareTopology(await connection.createChannel(), "herald");
  await connection.close();
}, STACK_TIMEOUT_MS);
afterAll(async () => {
  await node?.stop();
  await postgres?.stop();
  removePostgresData(databaseFolder);
  rmSync(brokerFolder, { recursive: true, force: true });
}, STACK_TIMEOUT_MS);

const settings = (caFile: string) => ({
  DATABASE_URL: postgres.url,
  DATABASE_CA_FILE: caFile,
  AMQP_URL: `amqps://guest:guest@localhost:${node.tlsPort}`,
  AMQP_CA_FILE: caFile,
});
const COMMANDS = [["migrate"], ["lag"], ["rejected", "list"]];

test("each command works with servers of an authority of one's own", async () => {
  for (const args of COMMANDS) {
    const { code, stderr } = await callHerald(args, settings(ownCa));
    expect([args, code, stderr.replace("0 rejected events.\n", "")]).toEqual([args, 0, ""]);
  }
});

test("each command refuses servers of another authority, and says what to do", async () => {
  for (const args of COMMANDS) {
    const { code, stderr } = await callHerald(args, settings(otherCa));
    expect([args, code]).toEqual([args, 1]);
    expect(stderr).toMatch(/from an authority that is not trusted here .* name it by (DATABASE|AMQP)_CA_FILE/);
  }
});

test("the doctor tells servers of another authority from those of one's own", async () => {
  const faultsWith = async (caFile: string) => {
    const { stdout } = await callHerald(["doctor", "--json"], settings(caFile));
    const { findings } = JSON.parse(stdout) as { findings: NamedFinding[] };
    return findings.filter(({ check, status }) => status === "fault" && ["PostgreSQL", "RabbitMQ"].includes(check));
  };
  expect(await faultsWith(ownCa)).toEqual([]);
  expect(await faultsWith(otherCa)).toMatchObject([
    { check: "PostgreSQL", remedy: expect.stringContaining("name it by DATABASE_CA_FILE") },
    { check: "RabbitMQ", remedy: expect.stringContaining("name it by AMQP_CA_FILE") },
  ]);
});
