import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { declareTopology } from "@herald/common/broker/topology";
import { machineClock } from "@herald/common/runtime/clock";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { certificates } from "@herald/dev/harness/certificates";
import { type NameServer, nameServer } from "@herald/dev/harness/name-server";
import { useOwnPostgres } from "@herald/dev/harness/own-postgres";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { useBroker } from "@herald/dev/harness/use-broker";
import { afterAll, beforeAll, expect } from "@jest/globals";
import { type ConfirmChannel, connect } from "amqplib";
import type { NamedFinding } from "../../src/doctor/finding.ts";
import { callHerald } from "../run-herald.ts";

/** The differences from the right set-up. */
export interface Change {
  settings?: Record<string, string>;
  args?: string[];
  /** By how much this machine's clock is ahead of the true one. */
  aheadMs?: number;
}

/** A finding as one text: how bad, by which check, what is so, and the remedy. */
export const inWords = ({ status, check, what, remedy }: NamedFinding) => `${status}, ${check}: ${what} -> ${remedy}`;
export const only = (words: RegExp): unknown[] => [expect.stringMatching(words)];

/** The commands of a remedy, which stand in backticks. */
export const commandsOf = (finding: string) =>
  [...(finding.split(" -> ")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, command = ""]) => command);

/** A set-up with nothing wrong. Call it at the top of the file; what it returns may be used in hooks and tests. */
export function useRightSetUp() {
  const postgres = useOwnPostgres();
  const broker = useBroker();
  const folder = mkdtempSync(join(tmpdir(), "herald-doctor-files-"));
  /** Of the authority of the receiver's certificate. */
  const caFile = join(folder, "ca.pem");
  /** The pair of keys for signing secrets, as the two settings have it. */
  const sealingKeys = newSealingKeys("k1");
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const rightKeys = JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] });
  let keys = rightKeys;
  let keyServer: Server;
  let nameServers: NameServer;

  beforeAll(async () => {
    writeFileSync(caFile, (await certificates()).caPem);
    nameServers = await nameServer();
    keyServer = createServer((_request, response) => void response.setHeader("connection", "close").end(keys));
    await once(keyServer.listen(0, "127.0.0.1"), "listening");
    await onBroker(async (channel) => {
      await declareTopology(channel, broker.namespace);
    });
  }, STACK_TIMEOUT_MS);
  afterAll(async () => {
    await nameServers?.close();
    keyServer?.closeAllConnections();
    keyServer?.close();
    rmSync(folder, { recursive: true });
  });

  async function onBroker(task: (channel: ConfirmChannel) => Promise<unknown>): Promise<void> {
    const connection = await connect(broker.url);
    try {
      const channel = await connection.createConfirmChannel();
      await task(channel);
      await channel.waitForConfirms();
    } finally {
      await connection.close();
    }
  }

  const settings = () => ({
    DATABASE_URL: postgres.url(),
    AMQP_URL: broker.url,
    BROKER_NAMESPACE: broker.namespace,
    ...sealingKeys,
    AUTH_ISSUER: "issuer",
    AUTH_AUDIENCE: "herald",
    AUTH_JWKS_URL: `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/jwks`,
    ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8,::1/128",
    EXTRA_CA_FILE: caFile,
    DNS_SERVERS: nameServers.address,
  });

  /** The faults and warnings that the doctor finds after a change. It shows no secret among them. */
  async function complaints(change: Change = {}): Promise<NamedFinding[]> {
    const { settings: changed = {}, args = [], aheadMs = 0 } = change;
    const wrong = { ...machineClock, now: () => new Date(Date.now() + aheadMs) };
    const { code, stdout, stderr } = await callHerald(
      ["doctor", "--json", ...args],
      { ...settings(), ...changed },
      { machineClock: wrong },
    );
    expect(stdout + stderr).not.toMatch(/do-not-show|guest:guest/);
    expect(stdout + stderr).not.toContain(sealingKeys.SECRET_KEYS.split(":")[1]);
    const { faults, warnings, findings } = JSON.parse(stdout) as {
      faults: number;
      warnings: number;
      findings: NamedFinding[];
    };
    const found = findings.filter(({ status }) => status === "fault" || status === "warning");
    expect(found).toHaveLength(faults + warnings);
    expect(code).toBe(faults > 0 ? 1 : 0);
    return found;
  }

  /** The doctor's findings about one of the servers, while the other one is away. The name server of these tests may be slow; RabbitMQ has no part in that. */
  async function complaintsOf(server: "PostgreSQL" | "RabbitMQ", { settings, ...change }: Change = {}) {
    const away =
      server === "PostgreSQL"
        ? { AMQP_URL: "amqp://herald:do-not-show@127.0.0.1:1" }
        : { DATABASE_URL: "postgres://herald:do-not-show@127.0.0.1:1/herald" };
    const found = await complaints({ ...change, settings: { ...away, ...settings } });
    const isOfOthers = ({ check, what }: NamedFinding) =>
      /127\.0\.0\.1:1\b/.test(what) || (server === "RabbitMQ" && check === "name servers");
    return found.filter((each) => each.check === server || !isOfOthers(each)).map(inWords);
  }

  return {
    postgres,
    broker,
    caFile,
    sealingKeys,
    settings,
    /** Changes the answer of the identity provider until the next call. Without an argument the answer is the right one. */
    answerKeys: (text = rightKeys) => {
      keys = text;
    },
    complaints,
    complaintsOf,
    onBroker,
  };
}
