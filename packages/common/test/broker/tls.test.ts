import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type CertificateAuthority, makeAuthority } from "@herald/testkit/certificates/authority";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { projectFolder } from "@herald/testkit/stack/folders";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/testkit/stack/rabbitmq-node";
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

/** Prints "ready", or why the broker can't be used. */
const CONNECT_ONCE = `
import { connectBroker } from "@herald/common/broker/broker";
const { url, ca } = JSON.parse(process.argv[1]);
const ignore = () => undefined;
const ended = (text) => process.stdout.write(text, () => process.exit());
const warn = (message, { reason }) => ended(reason);
const log = { debug: ignore, info: ignore, error: ignore, warn };
await connectBroker({ url, ca, namespace: "tls", name: "test", log }).ready();
ended("ready");
`;

/** In a process of its own: to amqplib, jest's own kind of errors are none, and it takes their codes off. */
async function outcome(url: string, ca: string): Promise<string> {
  const args = ["--input-type=module", "--eval", CONNECT_ONCE, JSON.stringify({ url, ca })];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: join(projectFolder(), "packages/common"),
  });
  return stdout;
}

const tlsUrl = (host = "localhost") => `amqps://guest:guest@${host}:${node.tlsPort}`;

test("RabbitMQ with a certificate of the authority in the file is used over TLS", async () => {
  expect(await outcome(tlsUrl(), authority.cert)).toBe("ready");
});

test("RabbitMQ with a certificate of another authority is refused, with what to do", async () => {
  const words = await outcome(tlsUrl(), (await makeAuthority("Another authority")).cert);
  expect(words).toContain("RabbitMQ's certificate is from an authority that is not trusted here");
  expect(words).toContain("name it by AMQP_CA_FILE");
});

test("RabbitMQ with a certificate for another name is refused, with both names", async () => {
  const words = await outcome(tlsUrl("127.0.0.1"), authority.cert);
  expect(words).toContain("is for DNS:localhost, and not for 127.0.0.1");
  expect(words).toContain("AMQP_URL");
});

test("RabbitMQ's port without TLS is refused for amqps://, with what to do", async () => {
  const plain = new URL(node.url);
  expect(await outcome(`amqps://guest:guest@localhost:${plain.port}`, authority.cert)).toContain(
    "RabbitMQ does not speak TLS at this port",
  );
});

test("RabbitMQ with a certificate that has expired is refused, with what to do", async () => {
  const day = 86_400_000;
  const expired = await authority.issue({
    names: ["localhost"],
    notBefore: new Date(Date.now() - 2 * day),
    notAfter: new Date(Date.now() - day),
  });
  writeFileSync(join(folder, "server.crt"), expired.cert);
  writeFileSync(join(folder, "server.key"), expired.key);
  // Else it uses what it has read for two minutes more.
  await node.control(["eval", "ssl:clear_pem_cache()."]);
  expect(await outcome(tlsUrl(), authority.cert)).toContain("has expired. Renew it on the server");
});

test("a URL without TLS beside a file of authorities is refused at the start", () => {
  expect(() =>
    connectBroker({ url: node.url, ca: authority.cert, namespace: "tls", name: "test", log: console }),
  ).toThrow(ConfigError);
});
