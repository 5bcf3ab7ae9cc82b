import { userOf, virtualHostOf } from "@herald/amqp";
import { names } from "@herald/common/broker/topology";
import { readCatalogue } from "@herald/common/config/event-types";
import { ConfigError, readSetting } from "@herald/common/config/read-config";
import { addressOf, openSession, preparesStatements } from "@herald/common/database/client";
import type { ServiceName } from "@herald/common/database/rights";
import { machineClock as ownClock } from "@herald/common/runtime/clock";
import { addressRules } from "@herald/common/security/address-guard";
import { BROKER, POSTGRES } from "@herald/common/security/connection-fault";
import { createNameResolver } from "@herald/common/security/name-resolver";
import { secretBox } from "@herald/common/security/secret-box";
import { authoritiesOf } from "@herald/common/security/tls-files";
import { LIVING, type Process } from "@herald/common/service/processes";
import { createEgressProxy } from "@herald/dispatcher";
import { type CommandContext, UsageError } from "../command.ts";
import { type BrokerAddress, brokerAddress, closeBroker, databaseAddress, openBroker } from "../connections.ts";
import { type BrokerSubject, declarations } from "./as-service.ts";
import { BLOCKED, brokerFinding, greetingOf, inbox, isBlocked, probe } from "./broker.ts";
import { ANSWER_MS, type Finding, fault, type NamedFinding, type OnCheck, refusal, runChecks } from "./finding.ts";
import { keyRing } from "./keys.ts";
import { locks } from "./locks.ts";
import { egressProxy, jwks, nameServers } from "./outside.ts";
import {
  clocks,
  collation,
  commit,
  type DatabaseSubject,
  dispatching,
  locksRoom,
  partitions,
  server,
  servicesAtWork,
  sessionSettings,
  settingsAlike,
} from "./postgres.ts";
import { rights } from "./rights.ts";
import { schema } from "./schema.ts";
import { factsOfEnvironment, misspelt, readAll, readSome, unwise } from "./settings.ts";
import { waiting } from "./waiting.ts";

/**
 * Looks at everything that Herald needs, at servers beside each other: several may be silent, and each of them is waited for. A setting that
 * can't be used is a finding, and stops only what depends on it.
 * @throws UsageError where no setting says what to look at
 */
export async function diagnose(
  context: CommandContext,
  { service, onCheck }: { service: ServiceName | undefined; onCheck: OnCheck },
): Promise<NamedFinding[]> {
  const { machineClock = ownClock } = context;
  if (!["DATABASE_URL", "AMQP_URL"].some((name) => context.environment[name] || context.environment[`${name}_FILE`])) {
    throw new UsageError("Give it the services' settings, DATABASE_URL and AMQP_URL first of all.");
  }
  const findings: NamedFinding[] = [];
  const ofSettings = (found: Finding) => findings.push({ check: "settings", ...found });

  /** The result of a reading; undefined if settings can't be used: each of them is then among the findings. */
  function read<T>(reading: () => T): T | undefined {
    try {
      return reading();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const problems = error.problems.filter((problem) => findings.every(({ what }) => what !== problem));
      for (const problem of problems)
        ofSettings(fault(problem, "Correct it for the services too: they do not start with it."));
      return undefined;
    }
  }

  read(() => readAll(context.environment, service));
  read(() => readCatalogue(readSome({ ...context.environment, HERALD_ENV: "development" }, "EVENT_TYPES_FILE")));
  misspelt(context.environment).forEach(ofSettings);
  read(() => unwise(context.environment).forEach(ofSettings));
  // Unsafe settings are among the findings above. The other checks read the settings as in development, so that they can look at unsafe ones too.
  const environment = { ...context.environment, HERALD_ENV: "development" };
  const box = read(() => {
    const { SECRET_KEYS: text } = readSome(environment, "SECRET_KEYS");
    return text ? readSetting("SECRET_KEYS", () => secretBox(text)) : undefined;
  });
  const database = read(() => {
    const address = databaseAddress(environment);
    const { DATABASE_TIMEOUT_SECONDS: seconds, ENDPOINT_CONCURRENCY: endpointConcurrency } = readSome(
      environment,
      "DATABASE_TIMEOUT_SECONDS",
      "ENDPOINT_CONCURRENCY",
    );
    return { ...address, statementTimeoutMs: seconds * 1_000, endpointConcurrency };
  });
  const broker = read(() => brokerAddress(environment));
  const jwksUrl = read(() => readSome(environment, "AUTH_JWKS_URL").AUTH_JWKS_URL);
  const outside = read(() => {
    const networks = ["ALLOWED_PRIVATE_NETWORKS", "DENIED_NETWORKS", "NAT64_PREFIXES"] as const;
    const config = readSome(environment, "DNS_SERVERS", "EGRESS_PROXY_URL", "EXTRA_CA_FILE", ...networks);
    const { DNS_SERVERS, EGRESS_PROXY_URL: proxyUrl, EXTRA_CA_FILE } = config;
    const servers = DNS_SERVERS?.split(",").map((server) => server.trim());
    // A dispatcher does not start with what these refuse.
    const authorities = authoritiesOf("EXTRA_CA_FILE", EXTRA_CA_FILE);
    addressRules(config);
    readSetting("DNS_SERVERS", () => createNameResolver({ servers }));
    return {
      authorities,
      servers,
      proxy: proxyUrl === undefined ? undefined : readSetting("EGRESS_PROXY_URL", () => createEgressProxy(proxyUrl)),
    };
  });

  const facts = {
    ...read(() => factsOfEnvironment(environment, service)),
    ...(database && addressOf(database.url, database.caFile).tlsFiles?.held()),
    ...broker?.authorities?.held(),
    ...outside?.authorities?.held(),
  };
  const ofPostgres =
    database && diagnosePostgres({ ...database, service, machineClock, secretBox: box, facts }, onCheck);
  const publishers = ofPostgres?.then((found) => found.publishers);
  const isOfDispatcher = (service ?? "dispatcher") === "dispatcher";
  const found = await Promise.all([
    ofPostgres?.then((found) => found.findings),
    broker && diagnoseBroker(broker, { service, publishers }, onCheck),
    runChecks([jwks], jwksUrl, onCheck),
    ...(outside && isOfDispatcher
      ? [nameServers, egressProxy].map((check) => runChecks([check], outside, onCheck))
      : []),
  ]);
  findings.push(...found.flatMap((each) => each ?? []));
  return findings;
}

const OF_POSTGRES = [
  server,
  sessionSettings,
  locks,
  commit,
  clocks,
  rights,
  collation,
  schema,
  partitions,
  locksRoom,
  settingsAlike,
  servicesAtWork,
  dispatching,
  waiting,
  keyRing,
];

/** @returns how many publishers are at work too, if PostgreSQL says so */
async function diagnosePostgres(
  given: Omit<DatabaseSubject, "session" | "openSession" | "preparesStatements">,
  onCheck: OnCheck,
): Promise<{ findings: NamedFinding[]; publishers?: number | undefined }> {
  const { url, caFile } = given;
  const open = () => openSession(url, { caFile, applicationName: "herald-doctor" });
  onCheck(server.name);
  const session = await open().catch((error: unknown) => refusal(error, POSTGRES, url));
  if ("status" in session) return { findings: [{ check: server.name, ...session }] };
  try {
    const subject = { ...given, session, openSession: open, preparesStatements: preparesStatements(url) };
    const findings = await runChecks(OF_POSTGRES, subject, onCheck);
    const living = await session.read<Process>(LIVING).catch(() => undefined);
    return { findings, publishers: living?.filter(({ service }) => service === "publisher").length };
  } finally {
    await session.close();
  }
}

async function diagnoseBroker(
  address: BrokerAddress,
  given: Pick<BrokerSubject, "service" | "publishers">,
  onCheck: OnCheck,
): Promise<NamedFinding[]> {
  const { url, namespace } = address;
  const check = "RabbitMQ";
  onCheck(check);
  const connection = await openBroker(address, ANSWER_MS).catch((error: unknown) => refusal(error, BROKER, url));
  if ("status" in connection) return [{ check, ...connection }];
  try {
    if (await isBlocked(connection)) return [{ check, ...BLOCKED }];
    const subject = {
      ...given,
      connection,
      names: names(namespace),
      namespace,
      vhost: virtualHostOf(url),
      user: userOf(url),
    };
    const found = await runChecks([probe, declarations, inbox], subject, onCheck);
    return [{ check, ...brokerFinding(greetingOf(connection)) }, ...found];
  } finally {
    await closeBroker(connection);
  }
}
