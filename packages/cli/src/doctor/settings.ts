import { totalmem } from "node:os";
import { MIB } from "@herald/common/config/common-settings";
import { type Environment, readConfig } from "@herald/common/config/read-config";
import type { Config, Setting, Settings } from "@herald/common/config/settings";
import type { ServiceName } from "@herald/common/database/rights";
import { type Facts, factsOf } from "@herald/common/service/processes";
import { dispatcherSettings } from "@herald/dispatcher";
import { managementApiSettings, problemsOfManagementApi } from "@herald/management-api";
import { publisherSettings } from "@herald/publisher";
import { distance } from "fastest-levenshtein";
import { relaySettings } from "../relay/relay-settings.ts";
import { type Finding, fault, warning, warningsOf } from "./finding.ts";

const SERVICE_SETTINGS: Record<ServiceName, Settings> = {
  dispatcher: dispatcherSettings,
  publisher: publisherSettings,
  "management-api": managementApiSettings,
};

const allSettings = {
  ...dispatcherSettings,
  ...publisherSettings,
  ...managementApiSettings,
  ...relaySettings,
};

/** Settings of any service, all of them optional: an environment may be one service's. */
const optionalSettings = Object.fromEntries(
  Object.entries<Setting>(allSettings).map(([name, { required: _required, ...setting }]) => [name, setting]),
) as unknown as { [Name in keyof typeof allSettings]: Omit<(typeof allSettings)[Name], "required"> };

/** Reads each service's settings by its own schema; of `service`, the required ones have to be there. @throws ConfigError with all faults */
export function readAll(environment: Environment, service: ServiceName | undefined): void {
  readConfig({ ...optionalSettings, ...(service && SERVICE_SETTINGS[service]) }, environment, (given) => {
    const config = given as Parameters<typeof problemsOfManagementApi>[0];
    const { AUTH_JWKS_URL, AUTH_PUBLIC_KEY, AUTH_JWT_SECRET } = config;
    const isOfApi = AUTH_JWKS_URL || AUTH_PUBLIC_KEY || AUTH_JWT_SECRET;
    return isOfApi ? problemsOfManagementApi(config) : [];
  });
}

/** Reads some settings for a check. @throws ConfigError where one of them can't be used */
export function readSome<const Name extends keyof typeof optionalSettings>(
  environment: Environment,
  ...names: readonly Name[]
): Pick<Config<typeof optionalSettings>, Name> {
  const some: Settings = Object.fromEntries(names.map((name) => [name, optionalSettings[name]]));
  return readConfig(some, environment) as Pick<Config<typeof optionalSettings>, Name>;
}

/** A misspelt name differs by at most two letters. Short names are not compared, since they resemble too many others. */
const MOST_EDITS = 2;
const SHORTEST_NAME = 6;

/** Warns of variables that are written like a setting and are none: no program reads them, and the setting that was meant has its default. */
export function misspelt(environment: Environment): Finding[] {
  const known = Object.keys(allSettings).flatMap((name) => [name, `${name}_FILE`]);
  return Object.keys(environment).flatMap((name) => {
    if (known.includes(name) || name.length < SHORTEST_NAME) return [];
    const meant =
      known.find((each) => each === name.toUpperCase()) ??
      known.find((each) => each.length >= SHORTEST_NAME && distance(name, each) <= MOST_EDITS);
    if (meant === undefined) return [];
    return [warning(`${name} is no setting, and nothing reads it.`, `If ${meant} is meant, write it so.`)];
  });
}

/** The values of the settings that all processes share: all of one service, or those that are set. @throws ConfigError */
export function factsOfEnvironment(environment: Environment, service: ServiceName | undefined): Facts {
  const settings: Settings = service ? SERVICE_SETTINGS[service] : optionalSettings;
  const isSet = (name: string) => service !== undefined || environment[name] || environment[`${name}_FILE`];
  const names = Object.keys(settings).filter(
    (name) => settings[name]?.shared && isSet(name),
  ) as (keyof typeof allSettings)[];
  const shared = Object.fromEntries(names.map((name) => [name, optionalSettings[name]]));
  return factsOf(shared, readSome(environment, ...names));
}

/** Finds settings that a service starts with, and that do not do what is meant. @throws ConfigError if one of them can't be used */
export function unwise(environment: Environment): Finding[] {
  const config = readSome(
    { ...environment, HERALD_ENV: "development" },
    ...(["MEMORY_MIB", "RETENTION_DAYS", "PUBLICATION_WINDOW_DAYS"] as const),
  );
  const { MEMORY_MIB: memory, RETENTION_DAYS: kept, PUBLICATION_WINDOW_DAYS: window } = config;
  const machine = Math.floor(totalmem() / MIB);
  const tooMuch = `MEMORY_MIB is ${memory}, and this machine has ${machine}: the process would be killed.`;
  return [
    ...((memory ?? 0) > machine ? [fault(tooMuch, "Give it a part of the machine's memory.")] : []),
    ...warningsOf([
      [
        kept <= window,
        `RETENTION_DAYS is ${kept}, and PUBLICATION_WINDOW_DAYS ${window}: events are kept for ${window + 1} days all the same.`,
        `Set RETENTION_DAYS to ${window + 1} or more.`,
      ],
    ]),
  ];
}
