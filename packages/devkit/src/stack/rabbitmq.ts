import { findRabbitmqServer, type NodeOptions, startRabbitmqNode } from "./rabbitmq-node.ts";

export interface Rabbitmq {
  url: string;
  managementUrl?: string;
  stop(): Promise<void>;
}

export async function startRabbitmq(options: NodeOptions): Promise<Rabbitmq> {
  const external = process.env.AMQP_URL;
  if (external) {
    const managementUrl = process.env.AMQP_MANAGEMENT_URL;
    return { url: external, ...(managementUrl && { managementUrl }), stop: async () => {} };
  }
  const server = findRabbitmqServer();
  if (server === undefined) throw new Error("No RabbitMQ is installed.");
  return await startRabbitmqNode(server, options);
}
