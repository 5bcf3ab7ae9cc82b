import { type Environment, readConfig } from "@herald/common/config/read-config";
import type { Setting, Settings } from "@herald/common/config/settings";
import { dispatcherSettings, problemsOfLease } from "@herald/dispatcher";
import { managementApiSettings } from "@herald/management-api";
import { publisherSettings } from "@herald/publisher";
import { distance } from "fastest-levenshtein";
import { relaySettings } from "../relay/relay-settings.ts";
import { splitSettings } from "../split/split-command.ts";
import { type Finding, warning } from "./finding.ts";

/** Every setting of every program, by the schema of the program that reads it. */
const allSettings: Settings = {
  ...dispatcherSettings,
  ...publisherSettings,
  ...managementApiSettings,
  ...relaySettings,
  ...splitSettings,
};

/**
 * Reads every setting that is there as its service would. None has to be there: an environment may be that of one service.
 *
 * @throws ConfigError with everything that a service would not start with
 */
export function assertUsable(environment: Environment): void {
  const optional = Object.entries(allSettings).map(([name, { required: _required, ...setting }]) => [name, setting]);
  readConfig(Object.fromEntries(optional) as Record<string, Setting>, environment, (config) =>
    problemsOfLease(config as Parameters<typeof problemsOfLease>[0]),
  );
}

/** Two slips of the finger. A short name is like too many others. */
const MOST_EDITS = 2;
const SHORTEST_NAME = 6;

/** Warns of what is no setting and is written like one: nobody reads it, and the setting that was meant has its default. */
export function misspelt(environment: Environment): Finding[] {
  const known = new Set(Object.keys(allSettings).flatMap((name) => [name, `${name}_FILE`]));
  return Object.keys(environment).flatMap((name) => {
    if (known.has(name) || name.length < SHORTEST_NAME) return [];
    const meant = [...known].find((each) => each.length >= SHORTEST_NAME && distance(name, each) <= MOST_EDITS);
    const meantInCase = known.has(name.toUpperCase()) ? name.toUpperCase() : meant;
    if (meantInCase === undefined) return [];
    return [warning(`${name} is no setting, and nothing reads it.`, `If ${meantInCase} is meant, write it so.`)];
  });
}
