import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { findOrInstall, installPackage, wayToInstall } from "./install-package.ts";
import { freePort } from "./ports.ts";
import { startProcess } from "./processes.ts";
import { runProgram, succeeds } from "./programs.ts";
import {
  findRabbitmqServer,
  type Rabbitmq,
  type RabbitmqOptions,
  startRabbitmqNode,
  untilBrokerAnswers,
} from "./rabbitmq-node.ts";
import { findOrUnpackRabbitmq4, type RabbitmqVersion, rabbitmqVersion } from "./rabbitmq-versions.ts";

export type { Rabbitmq, RabbitmqOptions } from "./rabbitmq-node.ts";

const RABBITMQ = { title: "RabbitMQ", apt: "rabbitmq-server", brew: ["rabbitmq"] };

/**
 * Brings up a RabbitMQ by the first way that works: AMQP_URL, a private node of an installed server, Docker, installing
 * the server. A version that is asked for is a private node.
 *
 * @throws one message that says what was tried and what to do, where none works
 */
export async function startRabbitmq(
  options: RabbitmqOptions,
  version: RabbitmqVersion = rabbitmqVersion(),
): Promise<Rabbitmq> {
  if (version !== "installed") return await startRabbitmqNode(await findOrInstallRabbitmq(version), options);
  if (process.env.AMQP_URL) return await joinBroker(process.env.AMQP_URL);
  const tried: string[] = [];
  for (const way of [startInstalled, startInDocker, installAndStart]) {
    try {
      const started = await way(options, tried);
      if (started !== undefined) return started;
    } catch (error) {
      tried.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(
    [
      "Herald needs RabbitMQ and found no way to have one:",
      "  - AMQP_URL is not set.",
      ...tried.map((line) => `  - ${line.replaceAll("\n", "\n    ")}`),
      "Install RabbitMQ 3.10 or newer (it need not run: Herald starts a node of its own), start Docker, or set AMQP_URL",
      "to a broker of yours, such as amqp://user:password@host:5672. Then run the command again.",
    ].join("\n"),
  );
}

/**
 * Installs RabbitMQ where it would have to be installed later, so that the question about it comes before the work begins
 * and not in the middle. A failure is not reported here: the start of RabbitMQ meets it again and says what was tried.
 */
export async function prepareRabbitmq(onProgress: (text: string) => void): Promise<void> {
  // This one asks no person, and installs nothing.
  if (rabbitmqVersion() === "4") return;
  if (process.env.AMQP_URL || findRabbitmqServer() !== undefined || (await dockerWorks())) return;
  const way = await wayToInstall(RABBITMQ);
  if (typeof way !== "string") await installPackage(RABBITMQ, way, onProgress).catch(() => {});
}

/**
 * The start script of RabbitMQ, which is installed where it is missing: for tests that stop and kill nodes, and so need
 * nodes of their own.
 */
export async function findOrInstallRabbitmq(version: RabbitmqVersion = rabbitmqVersion()): Promise<string> {
  if (version === "4") return await findOrUnpackRabbitmq4();
  const what = "Tests that run RabbitMQ nodes of their own";
  return await findOrInstall(RABBITMQ, what, () => findRabbitmqServer(version));
}

async function joinBroker(url: string): Promise<Rabbitmq> {
  await untilBrokerAnswers(url, { timeoutMs: 15_000 });
  const managementUrl = process.env.AMQP_MANAGEMENT_URL;
  return { url, ...(managementUrl && { managementUrl }), stop: async () => {} };
}

async function startInstalled(options: RabbitmqOptions, tried: string[]): Promise<Rabbitmq | undefined> {
  const server = findRabbitmqServer("installed");
  if (server === undefined) {
    tried.push("rabbitmq-server is not installed.");
    return undefined;
  }
  return await startRabbitmqNode(server, options);
}

async function startInDocker(options: RabbitmqOptions, tried: string[]): Promise<Rabbitmq | undefined> {
  if (await dockerWorks()) return await startRabbitmqContainer(options);
  tried.push("Docker is not installed, not running, or not for this user.");
  return undefined;
}

async function installAndStart(options: RabbitmqOptions, tried: string[]): Promise<Rabbitmq | undefined> {
  const way = await wayToInstall(RABBITMQ);
  if (typeof way === "string") {
    tried.push(way);
    return undefined;
  }
  await installPackage(RABBITMQ, way, options.onProgress);
  options.onProgress?.("installed, starting a node");
  return await startInstalled(options, tried);
}

const IMAGE = "rabbitmq:4.1-management";
const PULL_TIMEOUT_MS = 15 * 60_000;
const START_TIMEOUT_MS = 120_000;

/** Whether there is a Docker that this user may use. */
export async function dockerWorks(): Promise<boolean> {
  return await succeeds("docker", ["info"]);
}

/** Starts RabbitMQ in a container that ends with this process, its data in the given folder, its ports on the loopback. */
export async function startRabbitmqContainer(options: RabbitmqOptions): Promise<Rabbitmq> {
  if (!(await succeeds("docker", ["image", "inspect", IMAGE]))) {
    options.onProgress?.(`fetching the Docker image ${IMAGE}`);
    await runProgram("docker", ["pull", "--quiet", IMAGE], {
      what: `Fetching the Docker image ${IMAGE}`,
      timeoutMs: PULL_TIMEOUT_MS,
    });
  }
  const name = `herald-rabbitmq-${createHash("sha256").update(options.folder).digest("hex").slice(0, 8)}`;
  const remove = async () => void (await succeeds("docker", ["rm", "--force", name]));
  // One that a killed run left behind holds the name.
  await remove();
  const data = join(options.folder, "container");
  mkdirSync(data, { recursive: true });
  const ports = { amqp: await freePort(options.preferredPort), management: await freePort() };
  const child = await startProcess({
    name: "rabbitmq",
    command: "docker",
    args: [
      "run",
      "--rm",
      // The data folder is named after the host.
      ...["--name", name, "--hostname", "herald"],
      ...["--publish", `127.0.0.1:${ports.amqp}:5672`, "--publish", `127.0.0.1:${ports.management}:15672`],
      ...["--volume", `${data}:/var/lib/rabbitmq`],
      // The limits of deploy/docker/rabbitmq.conf.
      ...["--env", "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-rabbit max_message_size 1048576 -rabbit frame_max 16384"],
      IMAGE,
    ],
    pidFolder: options.pidFolder,
    mark: name,
    // The client passes it on to the container; killed, it could not.
    signals: { orderly: "SIGTERM", sure: "SIGTERM" },
    ...(options.onLine && { onLine: options.onLine }),
  });
  const url = `amqp://guest:guest@127.0.0.1:${ports.amqp}`;
  const stop = async () => {
    // Asked through Docker: ending the client would leave the container running.
    if (!options.disposable) await succeeds("docker", ["stop", "--time", "10", name], { timeoutMs: 20_000 });
    await remove();
    await child.stop();
  };
  try {
    await untilBrokerAnswers(url, { timeoutMs: START_TIMEOUT_MS, child });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, managementUrl: `http://guest:guest@127.0.0.1:${ports.management}`, exited: child.exited, stop };
}
