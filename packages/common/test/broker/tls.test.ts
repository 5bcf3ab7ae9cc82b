import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { type CertificateAuthority, type KeyPair, makeAuthority } from "@herald/dev/certificates/authority";
import { eventually } from "@herald/dev/harness/eventually";
import { loggingChild, program } from "@herald/dev/harness/logging-child";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { serviceEnvironment } from "@herald/dev/harness/use-broker";
import { projectFolder } from "@herald/dev/stack/folders";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connectBroker } from "../../src/broker/broker.ts";
import { ConfigError } from "../../src/config/read-config.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-broker-tls-"));
let authority: CertificateAuthority;
let node: RabbitmqNode;

beforeAll(async () => {
  authority = await makeAuthority("Herald test authority");
  const { executable } = await askForRabbitmqServer();
  node = await startRabbitmqNode(executable, {
    folder,
    disposable: true,
    tls: await authority.issue({ names: ["localhost"] }),
  });
}, STACK_TIMEOUT_MS);
afterAll(async () => {
  await node?.stop();
  rmSync(folder, { recursive: true, force: true });
}, STACK_TIMEOUT_MS);

function fileOf(text: string): string {
  const file = join(folder, `${randomUUID()}.pem`);
  writeFileSync(file, text);
  return file;
}

/** Prints of each broker "ready", or why it can't be used. */
const CONNECT_ONCE = `
import { connectBroker } from "@herald/common/broker/broker";
const ignore = () => undefined;
const outcomeOf = ({ url, caFile }) => new Promise((resolve) => {
  const log = { debug: ignore, info: ignore, error: ignore, warn: (message, { reason }) => resolve(reason) };
  connectBroker({ url, caFile, namespace: "tls", name: "test", log }).ready().then(() => resolve("ready"));
});
const outcomes = await Promise.all(JSON.parse(process.argv[1]).map(outcomeOf));
process.stdout.write(JSON.stringify(outcomes), () => process.exit());
`;

/** In a process of its own: to amqplib, jest's own kind of errors are none, and it takes their codes off. */
async function outcomes(brokers: { url: string; caFile: string }[]): Promise<string[]> {
  const args = ["--input-type=module", "--eval", CONNECT_ONCE, JSON.stringify(brokers)];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: join(projectFolder(), "packages/common"),
  });
  return JSON.parse(stdout);
}

const tlsUrl = (host = "localhost") => `amqps://guest:guest@${host}:${node.tlsPort}`;

test("RabbitMQ is used over TLS with a certificate of the authority in the file; another one is refused, with what to do", async () => {
  const [own, other] = [authority.cert, (await makeAuthority("Another authority")).cert];
  const plain = `amqps://guest:guest@localhost:${new URL(node.url).port}`;
  const cases: [url: string, ca: string, words: string[]][] = [
    [tlsUrl(), own, ["ready"]],
    [tlsUrl(), other, ["is from an authority that is not trusted here", "that AMQP_CA_FILE names"]],
    [tlsUrl("127.0.0.1"), own, ["is for DNS:localhost, and not for 127.0.0.1", "AMQP_URL"]],
    [plain, own, ["RabbitMQ does not speak TLS at this port"]],
  ];
  const found = await outcomes(cases.map(([url, ca]) => ({ url, caFile: fileOf(ca) })));
  for (const [index, [, , words]] of cases.entries()) for (const each of words) expect(found[index]).toContain(each);
});

test("a URL without TLS beside a file of authorities is refused at the start", () => {
  expect(() =>
    connectBroker({ url: node.url, caFile: fileOf(authority.cert), namespace: "tls", name: "test", log: console }),
  ).toThrow(ConfigError);
});

/** TLS before the broker, whose certificate can be exchanged at once: RabbitMQ keeps its own for two minutes. */
async function frontOf({ cert, key }: KeyPair) {
  const open = new Set<TLSSocket>();
  const server = createServer({ cert, key }, (socket) => {
    const behind = connect(Number(new URL(node.url).port), "127.0.0.1");
    open.add(socket);
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `amqps://guest:guest@localhost:${(server.address() as AddressInfo).port}`,
    present(next: KeyPair): void {
      server.setSecureContext(next);
      for (const socket of open) socket.destroy();
    },
    close: () => server.close(),
  };
}

/** Says where its operations port is, and then the lines of its log. */
const FOLLOW = `
import { serviceSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import { openProcess } from "@herald/common/service/open-process";
const { operationsPort } = await openProcess(["publisher"], readConfig(serviceSettings));
console.log(JSON.stringify({ operationsPort }));
`;

test(
  "regression: a process follows its file of the broker's authorities to the next one, without a restart",
  async () => {
    const [own, next] = [authority, await makeAuthority("The next authority")];
    const names = ["localhost"];
    const front = await frontOf(await own.issue({ names }));
    const caFile = fileOf(own.cert);
    const environment = serviceEnvironment("postgres://127.0.0.1:1/herald", { url: front.url, namespace: "herald" });
    const { lines, get, kill } = loggingChild(program(FOLLOW), {
      cwd: join(projectFolder(), "packages/common"),
      env: { ...environment, AMQP_CA_FILE: caFile, LOG_LEVEL: "info" },
    });
    try {
      const isReady = async () => (JSON.parse(await get("/readyz")) as { broker: boolean }).broker;
      await eventually(async () => expect(await isReady()).toBe(true));
      writeFileSync(caFile, `${own.cert}\n${next.cert}`);
      front.present(await next.issue({ names }));
      await eventually(() =>
        expect(lines()).toContainEqual(
          expect.objectContaining({ message: "RabbitMQ: down; trying again until it is back" }),
        ),
      );
      await eventually(async () => expect(await isReady()).toBe(true));
      const change = {
        level: "info",
        setting: "AMQP_CA_FILE",
        file: caFile,
        message: expect.stringContaining("has changed"),
      };
      expect(lines()).toContainEqual(expect.objectContaining(change));
    } finally {
      kill();
      front.close();
    }
  },
  STACK_TIMEOUT_MS,
);
