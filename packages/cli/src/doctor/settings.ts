import { ConfigError, type Environment, readConfig } from "@herald/common/config/read-config";
import type { Config, Setting, Settings } from "@herald/common/config/settings";
import type { ServiceName } from "@herald/common/database/rights";
import { dispatcherSettings } from "@herald/dispatcher";
import { managementApiSettings, problemsOfManagementApi } from "@herald/management-api";
import { publisherSettings } from "@herald/publisher";
import { distance } from "fastest-levenshtein";
import { relaySettings } from "../relay/relay-settings.ts";
import { splitSettings } from "../split/split-command.ts";
import { fault, type NamedFinding, warning } from "./finding.ts";

const SERVICE_SETTINGS = {
  dispatcher: dispatcherSettings,
  publisher: publisherSettings,
  "management-api": managementApiSettings,
} satisfies Record<ServiceName, Settings>;

const allSettings = {
  ...dispatcherSettings,
  ...publisherSettings,
  ...managementApiSettings,
  ...relaySettings,
  ...splitSettings,
};

/** Settings of any service, none of which has to be there: an environment may be that of one service. */
const optionalSettings = Object.fromEntries(
  Object.entries<Setting>(allSettings).map(([name, { required: _required, ...setting }]) => [name, setting]),
) as unknown as { [Name in keyof typeof allSettings]: Omit<(typeof allSettings)[Name], "required"> };

export type AnySettings = Config<typeof optionalSettings>;

/** What a service does not start with, by its own schema. With `service` its required settings have to be there too. */
export function settingsFindings(environment: Environment, service: ServiceName | undefined): NamedFinding[] {
  const settings = { ...optionalSettings, ...(service && SERVICE_SETTINGS[service]) };
  const findings = findingsOf(() =>
    readConfig(settings, environment, (given) => {
      const config = given as Parameters<typeof problemsOfManagementApi>[0];
      const { AUTH_JWKS_URL, AUTH_PUBLIC_KEY, AUTH_JWT_SECRET } = config;
      const isOfApi = AUTH_JWKS_URL || AUTH_PUBLIC_KEY || AUTH_JWT_SECRET;
      return isOfApi ? problemsOfManagementApi(config) : [];
    }),
  );
  return [...findings, ...misspelt(environment)];
}

/**
 * Reads some settings as they are, safe or not, for a check.
 *
 * @throws ConfigError where one of them can't be used
 */
export function readSome<const Name extends keyof typeof optionalSettings>(
  environment: Environment,
  names: readonly Name[],
): Pick<AnySettings, Name> {
  const some = Object.fromEntries(names.map((name) => [name, optionalSettings[name]])) as Settings;
  return readConfig(some, { ...environment, HERALD_ENV: "development" }) as Pick<AnySettings, Name>;
}

/** The problems that a reading of settings throws. */
export function findingsOf(reading: () => unknown): NamedFinding[] {
  try {
    reading();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const remedy = "Correct it for the services too: they do not start with it.";
    return error.problems.map((problem) => ({ check: "settings", ...fault(problem, remedy) }));
  }
}

/** Two slips of the finger. A short name is like too many others. */
const MOST_EDITS = 2;
const SHORTEST_NAME = 6;

/** Warns of what is no setting and is written like one: nobody reads it, and the setting that was meant has its default. */
function misspelt(environment: Environment): NamedFinding[] {
  const known = new Set(Object.keys(allSettings).flatMap((name) => [name, `${name}_FILE`]));
  return Object.keys(environment).flatMap((name) => {
    if (known.has(name) || name.length < SHORTEST_NAME) return [];
    const meant = [...known].find((each) => each.length >= SHORTEST_NAME && distance(name, each) <= MOST_EDITS);
    const meantInCase = known.has(name.toUpperCase()) ? name.toUpperCase() : meant;
    if (meantInCase === undefined) return [];
    const finding = warning(`${name} is no setting, and nothing reads it.`, `If ${meantInCase} is meant, write it so.`);
    return [{ check: "settings", ...finding }];
  });
}
