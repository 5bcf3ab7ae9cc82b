import { findOrInstall, installPackage, wayToInstall } from "./install-package.ts";
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
 * Brings up a RabbitMQ by the first way that works: AMQP_URL, a private node of an installed server, installing the server.
 * A version that is asked for is a private node.
 *
 * @throws one message that says what was tried and what to do, if none works
 */
export async function startRabbitmq(
  options: RabbitmqOptions,
  version: RabbitmqVersion = rabbitmqVersion(),
): Promise<Rabbitmq> {
  if (version !== "installed") return await startRabbitmqNode(await findOrInstallRabbitmq(version), options);
  if (process.env.AMQP_URL) return await joinBroker(process.env.AMQP_URL);
  const tried: string[] = [];
  for (const way of [startInstalled, installAndStart]) {
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
      "Install RabbitMQ 3.10 or newer (it need not run: Herald starts a node of its own), or set AMQP_URL to a broker of yours:",
      "docker run --rm --publish 127.0.0.1:5672:5672 --publish 127.0.0.1:15672:15672 rabbitmq:4-management",
      "AMQP_URL=amqp://guest:guest@127.0.0.1:5672 AMQP_MANAGEMENT_URL=http://guest:guest@127.0.0.1:15672 pnpm start",
    ].join("\n"),
  );
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
