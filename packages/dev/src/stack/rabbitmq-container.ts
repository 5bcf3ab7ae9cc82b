import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./ports.ts";
import { startProcess } from "./processes.ts";
import { runProgram, succeeds } from "./programs.ts";
import { type Rabbitmq, type RabbitmqOptions, untilBrokerAnswers } from "./rabbitmq-node.ts";

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
