import { findOrInstall } from "./install-package.ts";
import {
  findRabbitmqServer,
  type Rabbitmq,
  type RabbitmqOptions,
  startRabbitmqNode,
  untilBrokerAnswers,
} from "./rabbitmq-node.ts";
import { findOrUnpackRabbitmq4, type RabbitmqVersion, rabbitmqVersion } from "./rabbitmq-versions.ts";

export type { Rabbitmq, RabbitmqOptions } from "./rabbitmq-node.ts";

const RABBITMQ = {
  title: "RabbitMQ",
  apt: "rabbitmq-server",
  instead: [
    "RabbitMQ 3.10 or newer need not run: Herald starts a node of its own. Or set AMQP_URL to a broker of yours:",
    "docker run --rm --publish 127.0.0.1:5672:5672 --publish 127.0.0.1:15672:15672 rabbitmq:4-management",
    "AMQP_URL=amqp://guest:guest@127.0.0.1:5672 AMQP_MANAGEMENT_URL=http://guest:guest@127.0.0.1:15672 pnpm start",
  ].join("\n"),
};

/** Brings up a RabbitMQ: the one of AMQP_URL, else a private node. A version that is asked for is a private node. */
export async function startRabbitmq(
  options: RabbitmqOptions,
  version: RabbitmqVersion = rabbitmqVersion(),
): Promise<Rabbitmq> {
  const { AMQP_URL, AMQP_MANAGEMENT_URL: managementUrl } = process.env;
  if (version !== "installed" || !AMQP_URL)
    return await startRabbitmqNode(await findOrInstallRabbitmq(version, options.onProgress), options);
  await untilBrokerAnswers(AMQP_URL, { timeoutMs: 15_000 });
  return { url: AMQP_URL, ...(managementUrl && { managementUrl }), stop: async () => {} };
}

/** The start script of RabbitMQ, which is installed if it is missing. */
export async function findOrInstallRabbitmq(
  version: RabbitmqVersion = rabbitmqVersion(),
  onProgress?: (text: string) => void,
): Promise<string> {
  if (version === "4") return await findOrUnpackRabbitmq4();
  return await findOrInstall(RABBITMQ, "Herald and its tests", () => findRabbitmqServer(version), onProgress);
}
