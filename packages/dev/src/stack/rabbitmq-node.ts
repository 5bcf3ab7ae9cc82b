import { createHash } from "node:crypto";
import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "amqplib";
import { type BrokerUrls, developmentDefinitions, serviceUrls } from "./broker-rights.ts";
import { answers, freePort } from "./ports.ts";
import { type RunningProcess, startProcess, untilReady } from "./processes.ts";
import { findProgram, isExecutable, runProgram } from "./programs.ts";
import { findRabbitmq4, type RabbitmqVersion, rabbitmqVersion } from "./rabbitmq-versions.ts";

export interface RabbitmqOptions {
  /** Where everything of this broker lives; made if it does not exist. Absolute. */
  folder: string;
  /** Tried first for AMQP; without it any free port. */
  preferredPort?: number;
  /** Opens RabbitMQ's management API on the loopback too. */
  management?: boolean;
  /** For data that is not needed afterwards: ends the broker without time to write everything to disk. */
  disposable?: boolean;
  /** Takes TLS too, at a port of its own, with this certificate. */
  tls?: { cert: string; key: string };
  /** Makes a broker user for each service of the Herald of this namespace, with its name as password, beside `guest`. */
  usersOf?: string;
  /** Lines of rabbitmq.conf that win over those that every node has. */
  configuration?: readonly string[];
  /** Called with what is going on where it takes long. */
  onProgress?: (text: string) => void;
  /** The cluster that it belongs to; none if absent. */
  cluster?: ClusterMembership;
}

/** The common facts of a cluster's nodes, and the nodes that a new one joins. */
export interface ClusterMembership {
  /** The port of an Erlang port mapper that outlives each of them (`startPortMapper`). */
  mapperPort: number;
  /** The secret by which they know each other. */
  cookie: string;
  /** Names of nodes that run; a node that is new joins these. None for the first. */
  peers: readonly string[];
}

export interface Rabbitmq {
  url: string;
  /** For each service, where there are users for them. */
  serviceUrls?: BrokerUrls;
  /** The management API with its credentials; undefined if none was asked for or is known. */
  managementUrl?: string;
  /** Resolves if it ends by itself; undefined for a broker that others run. */
  exited?: Promise<unknown>;
  /** Runs `rabbitmqctl` on it, and returns what that printed; undefined for a broker that others run. */
  control?: (args: string[]) => Promise<string>;
  stop(): Promise<void>;
}

/** A node that this process runs. */
export interface RabbitmqNode extends Rabbitmq {
  /** By which the other nodes of its cluster know it. */
  name: string;
  /** Its port for TLS; undefined if none was asked for. */
  tlsPort: number | undefined;
  control: (args: string[]) => Promise<string>;
}

const START_TIMEOUT_MS = 90_000;
/** RabbitMQ 4.0 still allows what 4.3 refuses. Nothing of Herald's may need it. */
const WITHOUT_DEPRECATED = [
  "deprecated_features.permit.transient_nonexcl_queues = false",
  "deprecated_features.permit.global_qos = false",
];
const MAPPER_TIMEOUT_MS = 10_000;

/**
 * The start script of RabbitMQ in this version, undefined if there is none. Debian's `/usr/sbin/rabbitmq-server` wraps
 * the script and insists on the system's own user and node, so the script itself is looked for first.
 */
export function findRabbitmqServer(version: RabbitmqVersion = rabbitmqVersion()): string | undefined {
  if (version === "4") return findRabbitmq4();
  const known = [
    "/usr/lib/rabbitmq/bin/rabbitmq-server",
    "/opt/homebrew/opt/rabbitmq/sbin/rabbitmq-server",
    "/usr/local/opt/rabbitmq/sbin/rabbitmq-server",
    "/opt/rabbitmq/sbin/rabbitmq-server",
  ];
  const onPath = findProgram("rabbitmq-server");
  if (onPath !== undefined && !realpathSync(onPath).endsWith("script-wrapper")) known.unshift(onPath);
  return known.find(isExecutable);
}

/**
 * Starts a RabbitMQ node that shares nothing with the system's own: other ports, other data, other Erlang port mapper,
 * all on the loopback. Needs no rights. Takes about 8 seconds.
 */
export async function startRabbitmqNode(server: string, options: RabbitmqOptions): Promise<RabbitmqNode> {
  const ports = {
    amqp: await freePort(options.preferredPort),
    distribution: await freePort(),
    mapper: options.cluster?.mapperPort ?? (await freePort()),
    management: options.management ? await freePort() : undefined,
    tls: options.tls ? await freePort() : undefined,
  };
  writeConfiguration(options, ports, server === findRabbitmq4() ? WITHOUT_DEPRECATED : []);
  const mapper = options.cluster ? undefined : await startPortMapper(server, ports.mapper);
  const url = `amqp://guest:guest@127.0.0.1:${ports.amqp}`;
  let node: RunningProcess | undefined;
  try {
    node = await startProcess({
      name: "rabbitmq",
      command: server,
      args: [],
      env: nodeEnvironment(options.folder, ports),
    });
    await untilBrokerAnswers(url, { timeoutMs: START_TIMEOUT_MS, child: node });
  } catch (error) {
    await node?.stop();
    await mapper?.stop();
    throw error;
  }
  const running = node;
  return {
    url,
    ...(options.usersOf !== undefined && { serviceUrls: serviceUrls(url) }),
    name: nodeName(options.folder),
    tlsPort: ports.tls,
    ...(ports.management !== undefined && { managementUrl: `http://guest:guest@127.0.0.1:${ports.management}` }),
    exited: running.exited,
    control: (args) =>
      runProgram(join(dirname(server), "rabbitmqctl"), ["--quiet", ...args], {
        what: `rabbitmqctl ${args[0]}`,
        env: nodeEnvironment(options.folder, ports),
      }),
    stop: async () => {
      await running.stop(options.disposable ? 0 : 15_000);
      await mapper?.stop();
    },
  };
}

interface NodePorts {
  amqp: number;
  distribution: number;
  mapper: number;
  management: number | undefined;
  tls: number | undefined;
}

function writeConfiguration(
  { folder, usersOf, cluster, tls, configuration = [] }: RabbitmqOptions,
  ports: NodePorts,
  ofVersion: readonly string[],
): void {
  for (const name of ["data", "log"]) mkdirSync(join(folder, name), { recursive: true });
  const lines = [
    `listeners.tcp.local = 127.0.0.1:${ports.amqp}`,
    "log.file.level = warning",
    // The default, half of the disk that a developer has left, stops publishing on a full laptop.
    "disk_free_limit.absolute = 100MB",
    "collect_statistics_interval = 1000",
    // As deploy/docker/rabbitmq.conf has it: tests and developers meet the limits that production has.
    "max_message_size = 1048576",
    "frame_max = 16384",
  ];
  if (ports.management !== undefined) {
    lines.push("management.tcp.ip = 127.0.0.1", `management.tcp.port = ${ports.management}`);
  }
  if (usersOf !== undefined) {
    writeFileSync(join(folder, "definitions.json"), developmentDefinitions(usersOf));
    lines.push(`load_definitions = ${join(folder, "definitions.json")}`);
  }
  if (cluster !== undefined) {
    // Nodes that do not see the majority stop: else both halves take messages, and the messages of one half are lost later.
    lines.push(
      "cluster_partition_handling = pause_minority",
      "cluster_formation.peer_discovery_backend = classic_config",
    );
    for (const [index, peer] of cluster.peers.entries()) {
      lines.push(`cluster_formation.classic_config.nodes.${index + 1} = ${peer}`);
    }
    const cookieFile = join(folder, ".erlang.cookie");
    rmSync(cookieFile, { force: true });
    writeFileSync(cookieFile, cluster.cookie, { mode: 0o400 });
  }
  if (tls !== undefined) {
    writeFileSync(join(folder, "server.crt"), tls.cert);
    writeFileSync(join(folder, "server.key"), tls.key, { mode: 0o600 });
    lines.push(
      `listeners.ssl.local = 127.0.0.1:${ports.tls}`,
      `ssl_options.certfile = ${join(folder, "server.crt")}`,
      `ssl_options.keyfile = ${join(folder, "server.key")}`,
      "ssl_options.verify = verify_none",
    );
  }
  const named = new Map([...lines, ...ofVersion, ...configuration].map((line) => [line.split(" = ")[0], line]));
  writeFileSync(join(folder, "rabbitmq.conf"), `${[...named.values()].join("\n")}\n`);
  writeFileSync(join(folder, "rabbitmq-env.conf"), "");
  writeFileSync(join(folder, "enabled_plugins"), ports.management === undefined ? "[].\n" : "[rabbitmq_management].\n");
}

function nodeEnvironment(folder: string, ports: NodePorts): NodeJS.ProcessEnv {
  const onLoopback = "-kernel inet_dist_use_interface {127,0,0,1}";
  // Idle schedulers sleep instead of spinning: the other services of this machine want the cores.
  const quietSchedulers = "+sbwt none +sbwtdcpu none +sbwtdio none";
  return {
    // RabbitMQ's script must find Erlang, also where these folders are not on the path.
    PATH: `${process.env.PATH}:/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin`,
    LANG: process.env.LANG ?? "C.UTF-8",
    HOME: folder,
    RABBITMQ_NODENAME: nodeName(folder),
    RABBITMQ_NODE_PORT: `${ports.amqp}`,
    RABBITMQ_DIST_PORT: `${ports.distribution}`,
    RABBITMQ_MNESIA_BASE: join(folder, "data"),
    RABBITMQ_LOG_BASE: join(folder, "log"),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "enabled_plugins"),
    RABBITMQ_CONFIG_FILE: join(folder, "rabbitmq.conf"),
    RABBITMQ_CONF_ENV_FILE: join(folder, "rabbitmq-env.conf"),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: `${onLoopback} ${quietSchedulers}`,
    // Makes the script become the node instead of waiting for it, so that a signal reaches the node itself.
    RUNNING_UNDER_SYSTEMD: "true",
    // Else it goes to the folder in which the command was typed.
    ERL_CRASH_DUMP: join(folder, "log", "erl_crash.dump"),
    ERL_EPMD_PORT: `${ports.mapper}`,
    ERL_EPMD_ADDRESS: "127.0.0.1",
  };
}

function nodeName(folder: string): string {
  return `herald-${createHash("sha256").update(folder).digest("hex").slice(0, 8)}@localhost`;
}

/**
 * Starts epmd, by which Erlang nodes find each other's ports. A node that started its own would leave it behind. Returns undefined if there is no
 * program for it: then the first node starts its own.
 */
export async function startPortMapper(server: string, port: number): Promise<RunningProcess | undefined> {
  const program = findProgram("epmd", [
    dirname(server),
    "/usr/lib/erlang/bin",
    "/usr/lib64/erlang/bin",
    "/opt/homebrew/opt/erlang/lib/erlang/bin",
    "/usr/local/opt/erlang/lib/erlang/bin",
  ]);
  if (program === undefined) return undefined;
  const mapper = await startProcess({
    name: "epmd",
    command: program,
    args: ["-port", `${port}`, "-address", "127.0.0.1", "-relaxed_command_check"],
  });
  // A node that finds none at its start ends at once.
  const deadline = Date.now() + MAPPER_TIMEOUT_MS;
  while (!(await answers(port)) && Date.now() < deadline) await sleep(20);
  return mapper;
}

/** Resolves when the broker takes a connection; rejects with its last lines of output at the deadline. */
export async function untilBrokerAnswers(
  url: string,
  options: { timeoutMs: number; child?: RunningProcess },
): Promise<void> {
  await untilReady(
    `RabbitMQ at ${new URL(url).host}`,
    async () => {
      const connection = await connect(url, { timeout: 5_000 });
      connection.on("error", () => {});
      await connection.close();
    },
    options,
  );
}
