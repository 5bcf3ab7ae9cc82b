import { installPackage, waysToInstall } from "./install-package.ts";
import { dockerWorks, startRabbitmqContainer } from "./rabbitmq-container.ts";
import { findRabbitmqServer, type Rabbitmq, type RabbitmqOptions, startRabbitmqNode } from "./rabbitmq-node.ts";
import { untilBrokerAnswers } from "./rabbitmq-ready.ts";

export type { Rabbitmq, RabbitmqOptions } from "./rabbitmq-node.ts";

const RABBITMQ = { title: "RabbitMQ", apt: "rabbitmq-server", brew: ["rabbitmq"] };

/**
 * Brings up a RabbitMQ by the first way that works: AMQP_URL, a private node of an installed server, Docker, installing
 * the server.
 *
 * @throws one message that says what was tried and what to do, where none works
 */
export async function startRabbitmq(options: RabbitmqOptions): Promise<Rabbitmq> {
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
 * Installs RabbitMQ where nothing else would give one, so that a question about it comes before the work begins and not in
 * the middle. What goes wrong here comes up again, with all that was tried, when RabbitMQ is started.
 */
export async function prepareRabbitmq(onProgress: (text: string) => void): Promise<void> {
  if (process.env.AMQP_URL || findRabbitmqServer() !== undefined || (await dockerWorks())) return;
  const { usable } = await waysToInstall(RABBITMQ);
  if (usable !== undefined) await installPackage(RABBITMQ, usable, onProgress).catch(() => {});
}

/**
 * The start script of an installed RabbitMQ, which is installed where it is missing: for whoever kills nodes, and so needs
 * some of its own.
 *
 * @throws one message that says what was tried and what to do, where none can be had
 */
export async function findOrInstallRabbitmq(): Promise<string> {
  const installed = findRabbitmqServer();
  if (installed !== undefined) return installed;
  const { usable, whyNone } = await waysToInstall(RABBITMQ);
  let failure = whyNone;
  if (usable !== undefined) {
    await installPackage(RABBITMQ, usable).catch((error: Error) => {
      failure = error.message;
    });
  }
  const found = findRabbitmqServer();
  if (found !== undefined) return found;
  throw new Error(
    `Only a RabbitMQ of one's own can be killed, and none is installed. ${failure} Install rabbitmq-server; it need not run.`,
  );
}

async function joinBroker(url: string): Promise<Rabbitmq> {
  await untilBrokerAnswers(url, { timeoutMs: 15_000 });
  const managementUrl = process.env.AMQP_MANAGEMENT_URL;
  return { url, ...(managementUrl && { managementUrl }), stop: async () => {} };
}

async function startInstalled(options: RabbitmqOptions, tried: string[]): Promise<Rabbitmq | undefined> {
  const server = findRabbitmqServer();
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
  const { usable, whyNone } = await waysToInstall(RABBITMQ);
  if (usable === undefined) {
    tried.push(whyNone);
    return undefined;
  }
  await installPackage(RABBITMQ, usable, options.onProgress);
  options.onProgress?.("installed, starting a node");
  return await startInstalled(options, tried);
}
