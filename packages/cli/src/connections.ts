import type { Duplex } from "node:stream";
import { withHeartbeat } from "@herald/amqp";
import { type Names, names } from "@herald/common/broker/topology";
import { serviceSettings } from "@herald/common/config/common-settings";
import { type Environment, readConfig } from "@herald/common/config/read-config";
import { addressOf } from "@herald/common/database/client";
import { type Database, openDatabase } from "@herald/common/database/open-database";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import { within } from "@herald/common/runtime/repeat";
import { BROKER, explain, POSTGRES, type Server } from "@herald/common/security/connection-fault";
import { brokerAuthorities, type TlsFiles } from "@herald/common/security/tls-files";
import { type ChannelModel, type ConfirmChannel, connect } from "amqplib";
import type { CommandContext } from "./command.ts";

const { DATABASE_URL, DATABASE_CA_FILE, AMQP_URL, AMQP_CA_FILE, BROKER_NAMESPACE } = serviceSettings;

/** Where a server is, and the file of the authorities that its certificate may come from. */
export interface Address {
  url: string;
  caFile: string | undefined;
}

/** @throws ConfigError */
export function databaseAddress(environment: Environment): Address {
  const config = readConfig({ DATABASE_URL, DATABASE_CA_FILE }, environment);
  addressOf(config.DATABASE_URL, config.DATABASE_CA_FILE);
  return { url: config.DATABASE_URL, caFile: config.DATABASE_CA_FILE };
}

/**
 * Runs a task on a database, and closes the connections afterwards. The services wait for a server that is away; a command fails
 * instead, since an operator waits for it. The task also gets PostgreSQL's time, for all that it writes.
 */
export async function withDatabase<T>(
  at: Address | CommandContext,
  task: (queries: Queries, clock: Clock, readsWithin: Database["readsWithin"]) => Promise<T>,
): Promise<T> {
  const { url, caFile } = "url" in at ? at : databaseAddress(at.environment);
  const database = openDatabase(url, { caFile, poolSize: 2, applicationName: "herald-cli" });
  try {
    await database.ping().catch((cause) => refused(cause, POSTGRES, url));
    return await task(database.queries, database.clock, database.readsWithin);
  } finally {
    await database.close();
  }
}

/** @throws Error that says why a server takes no connection, and what to do */
function refused(cause: unknown, server: Server, url: string): never {
  const { what, remedy } = explain(cause, server, url);
  throw new Error(`${what} ${remedy}`, { cause });
}

const CONNECT_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2_000;

export interface BrokerAddress {
  url: string;
  /** Those that its certificate may come from; undefined for Node's own. */
  authorities: TlsFiles | undefined;
  namespace: string;
}

const IN_ALARM =
  "RabbitMQ takes no messages: its memory or disk alarm is set. See which one: rabbitmq-diagnostics alarms. Then run this again.";

/** @throws ConfigError */
export function brokerAddress(environment: Environment): BrokerAddress {
  const config = readConfig({ AMQP_URL, AMQP_CA_FILE, BROKER_NAMESPACE }, environment);
  const authorities = brokerAuthorities(config.AMQP_URL, config.AMQP_CA_FILE);
  return { url: config.AMQP_URL, authorities, namespace: config.BROKER_NAMESPACE };
}

/** @throws amqplib's error if there is no connection */
export async function openBroker(
  { url, authorities }: BrokerAddress,
  timeout = CONNECT_TIMEOUT_MS,
): Promise<ChannelModel> {
  const connection = await connect(withHeartbeat(url), {
    timeout,
    ...authorities?.current(),
    clientProperties: { connection_name: "herald-cli" },
  });
  // The call that waits for an answer fails by itself; without a listener this event would end the process.
  connection.on("error", () => undefined);
  return connection;
}

/** A broker that is short of memory or disk stops reading, and would never answer the close. */
export async function closeBroker(connection: ChannelModel): Promise<void> {
  await within(CLOSE_TIMEOUT_MS, connection.close()).catch(() => undefined);
  // Not in amqplib's types.
  (connection.connection as { stream?: Duplex }).stream?.destroy();
}

/** Runs a task on a connection to RabbitMQ, and closes the connection afterwards. A broker in alarm ends it: it would answer nothing more. */
export async function withBroker<T>(
  context: CommandContext,
  task: (connection: ChannelModel, names: Names) => Promise<T>,
): Promise<T> {
  const address = brokerAddress(context.environment);
  const connection = await openBroker(address).catch((cause) => refused(cause, BROKER, address.url));
  const blocked = new Promise<never>((_, reject) => connection.once("blocked", () => reject(new Error(IN_ALARM))));
  try {
    return await Promise.race([task(connection, names(address.namespace)), blocked]);
  } finally {
    await closeBroker(connection);
  }
}

/** Runs one question on a channel of its own, since the broker answers "no" by closing the channel. */
export async function onChannel<T>(
  connection: ChannelModel,
  question: (channel: ConfirmChannel) => Promise<T>,
): Promise<T> {
  const channel = await connection.createConfirmChannel();
  // The question under way fails by itself; without a listener this event would end the process.
  channel.on("error", () => undefined);
  try {
    return await question(channel);
  } finally {
    await channel.close().catch(() => undefined);
  }
}

export const ACCESS_REFUSED = 403;
export const NOT_FOUND = 404;

/** AMQP's number for why the broker refused something; undefined for other errors. */
export function replyCodeOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "number" ? code : undefined;
}

/** How many messages wait in a queue; null if there is no such queue. Declares nothing. */
export async function depthOf(connection: ChannelModel, queue: string): Promise<number | null> {
  try {
    return (await onChannel(connection, (channel) => channel.checkQueue(queue))).messageCount;
  } catch (error) {
    if (replyCodeOf(error) === NOT_FOUND) return null;
    throw error;
  }
}

export async function messagesIn(connection: ChannelModel, queues: readonly string[]): Promise<number> {
  const depths = await Promise.all(queues.map((queue) => depthOf(connection, queue)));
  return depths.reduce<number>((sum, messages) => sum + (messages ?? 0), 0);
}
