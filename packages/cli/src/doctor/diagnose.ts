import {
  networkSettings,
  sealingSettings,
  secretSettings,
  serviceSettings,
} from "@herald/common/config/common-settings";
import { ConfigError, type Environment, readConfig, readSetting } from "@herald/common/config/read-config";
import type { Settings } from "@herald/common/config/settings";
import type { ServiceName } from "@herald/common/database/rights";
import { machineClock as ownClock } from "@herald/common/runtime/clock";
import { addressRules } from "@herald/common/security/address-rules";
import { createNameResolver } from "@herald/common/security/name-resolver";
import { type SecretBox, type SecretSealer, secretBox, secretSealer } from "@herald/common/security/secret-box";
import { readCaFile } from "@herald/common/security/server-certificate";
import { brokerAddress } from "../broker.ts";
import { type CommandContext, UsageError } from "../command.ts";
import { databaseAddress } from "../database.ts";
import { ofManagementApi } from "../judged-settings.ts";
import { diagnoseBroker } from "./broker/diagnose-broker.ts";
import { type OnCheck, runChecks } from "./check.ts";
import { fault, type NamedFinding } from "./finding.ts";
import { jwks } from "./jwks.ts";
import { diagnosePostgres } from "./postgres/diagnose-postgres.ts";
import { sealingKey } from "./sealing-key.ts";
import { type WayOutSubject, wayOut } from "./way-out.ts";

export interface DiagnosisOptions {
  url: URL | undefined;
  processes: number;
  service: ServiceName | undefined;
  onCheck: OnCheck;
}

/** Settings of the dispatcher, which says what they mean. */
const ofDispatcher = {
  DNS_SERVERS: { type: "string", description: "Of the dispatcher." },
  EXTRA_CA_FILE: { type: "string", description: "Of the dispatcher." },
} as const satisfies Settings;

/**
 * Looks at everything that Herald needs, one thing after the other. A setting that can't be used is a finding, and stops only what
 * depends on it.
 *
 * @throws UsageError where no setting says what to look at
 */
export async function diagnose(context: CommandContext, options: DiagnosisOptions): Promise<NamedFinding[]> {
  const { machineClock = ownClock } = context;
  const { onCheck, processes, service } = options;
  if (!["DATABASE_URL", "AMQP_URL"].some((name) => context.environment[name] || context.environment[`${name}_FILE`])) {
    throw new UsageError("Give it the services' settings, DATABASE_URL and AMQP_URL first of all.");
  }
  const findings: NamedFinding[] = [];
  // Loaded now, since no other command needs the services' settings.
  const { assertUsable, misspelt } = await import("./all-settings.ts");
  read(findings, () => assertUsable(context.environment));
  findings.push(...misspelt(context.environment).map((finding) => ({ check: "settings", ...finding })));
  // What is not safe is told by now, and can be looked at all the same.
  const environment = { ...context.environment, HERALD_ENV: "development" };
  const box = read(findings, () => readKeyRing(environment));
  const sealer = read(findings, () => readSealer(environment));
  const database = read(findings, () => ({
    ...databaseAddress({ ...context, environment }),
    ...readDatabaseUse(environment),
  }));
  const broker = read(findings, () => brokerAddress({ ...context, environment }));
  const identity = read(findings, () => readConfig({ AUTH_JWKS_URL: ofManagementApi.AUTH_JWKS_URL }, environment));
  const outside = read(findings, () => readWayOut(environment, options.url));

  if (database)
    findings.push(
      ...(await diagnosePostgres({ ...database, processes, service, machineClock, secretBox: box }, onCheck)),
    );
  findings.push(...(await runChecks([sealingKey], { sealer, secretBox: box }, onCheck)));
  if (broker) findings.push(...(await diagnoseBroker(broker, service, onCheck)));
  if (identity) findings.push(...(await runChecks([jwks], { jwksUrl: identity.AUTH_JWKS_URL }, onCheck)));
  if (outside) findings.push(...(await runChecks([wayOut], outside, onCheck)));
  return findings;
}

/** What a reading gives; undefined where settings can't be used, each of which is then among the findings. */
function read<T>(findings: NamedFinding[], reading: () => T): T | undefined {
  try {
    return reading();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const remedy = "Correct it for the services too: they do not start with it.";
    const told = new Set(findings.map(({ what }) => what));
    const problems = error.problems.filter((problem) => !told.has(problem));
    findings.push(...problems.map((problem) => ({ check: "settings", ...fault(problem, remedy) })));
    return undefined;
  }
}

function readKeyRing(environment: Environment): SecretBox | undefined {
  // Only dispatchers have it.
  const { required: _required, ...SECRET_KEYS } = secretSettings.SECRET_KEYS;
  const keys = readConfig({ SECRET_KEYS }, environment).SECRET_KEYS;
  return keys === undefined ? undefined : readSetting("SECRET_KEYS", () => secretBox(keys));
}

function readSealer(environment: Environment): SecretSealer | undefined {
  // Only the management API has it.
  const { required: _required, ...SECRET_SEALING_KEY } = sealingSettings.SECRET_SEALING_KEY;
  const key = readConfig({ SECRET_SEALING_KEY }, environment).SECRET_SEALING_KEY;
  return key === undefined ? undefined : readSetting("SECRET_SEALING_KEY", () => secretSealer(key));
}

function readDatabaseUse(environment: Environment): { poolSize: number; statementTimeoutMs: number } {
  const { DATABASE_POOL_SIZE, DATABASE_TIMEOUT_SECONDS } = serviceSettings;
  const config = readConfig({ DATABASE_POOL_SIZE, DATABASE_TIMEOUT_SECONDS }, environment);
  return { poolSize: config.DATABASE_POOL_SIZE, statementTimeoutMs: config.DATABASE_TIMEOUT_SECONDS * 1_000 };
}

function readWayOut(environment: Environment, url: URL | undefined): WayOutSubject {
  const { DNS_SERVERS, EXTRA_CA_FILE } = ofDispatcher;
  const config = readConfig({ DNS_SERVERS, EXTRA_CA_FILE, ...networkSettings }, environment);
  const servers = config.DNS_SERVERS?.split(",").map((server) => server.trim());
  return {
    url,
    resolve: readSetting("DNS_SERVERS", () => createNameResolver({ servers })),
    extraCa: readCaFile("EXTRA_CA_FILE", config.EXTRA_CA_FILE),
    addresses: addressRules(config),
  };
}
