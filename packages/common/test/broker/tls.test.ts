import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type CertificateAuthority, makeAuthority } from "@herald/dev/certificates/authority";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
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
    pidFolder: join(folder, "pids"),
    disposable: true,
    tls: await authority.issue({ names: ["localhost"] }),
  });
}, STACK_TIMEOUT_MS);
afterAll(async () => {
  await node?.stop();
  rmSync(folder, { recursive: true, force: true });
}, STACK_TIMEOUT_MS);

/** Prints of each broker "ready", or why it can't be used. */
const CONNECT_ONCE = `
import { connectBroker } from "@herald/common/broker/broker";
const ignore = () => undefined;
const outcomeOf = ({ url, ca }) => new Promise((resolve) => {
  const log = { debug: ignore, info: ignore, error: ignore, warn: (message, { reason }) => resolve(reason) };
  connectBroker({ url, ca, namespace: "tls", name: "test", log }).ready().then(() => resolve("ready"));
});
const outcomes = await Promise.all(JSON.parse(process.argv[1]).map(outcomeOf));
process.stdout.write(JSON.stringify(outcomes), () => process.exit());
`;

/** In a process of its own: to amqplib, jest's own kind of errors are none, and it takes their codes off. */
async function outcomes(brokers: { url: string; ca: string }[]): Promise<string[]> {
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
    [tlsUrl(), other, ["is from an authority that is not trusted here", "name it by AMQP_CA_FILE"]],
    [tlsUrl("127.0.0.1"), own, ["is for DNS:localhost, and not for 127.0.0.1", "AMQP_URL"]],
    [plain, own, ["RabbitMQ does not speak TLS at this port"]],
  ];
  const found = await outcomes(cases.map(([url, ca]) => ({ url, ca })));
  for (const [index, [, , words]] of cases.entries()) for (const each of words) expect(found[index]).toContain(each);
});

test("a URL without TLS beside a file of authorities is refused at the start", () => {
  expect(() =>
    connectBroker({ url: node.url, ca: authority.cert, namespace: "tls", name: "test", log: console }),
  ).toThrow(ConfigError);
});
