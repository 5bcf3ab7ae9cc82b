import { readFileSync } from "node:fs";
import { Ajv, type ErrorObject } from "ajv";
import { safetySettings } from "./common-settings.ts";
import type { Config, Setting, Settings } from "./settings.ts";
import { unsafeSettings } from "./unsafe-settings.ts";

/** The process's exit code for a configuration that can't be used (EX_CONFIG of sysexits.h). */
export const CONFIG_EXIT_CODE = 78;

/** Everything that is wrong with a configuration, at once. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? "a problem" : `${problems.length} problems`}:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`,
    );
    this.name = "ConfigError";
    this.problems = problems;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads settings from environment variables. An empty variable counts as absent. A secret may come from the file
 * that `<NAME>_FILE` names, its trailing line break cut off; so may what is made together with one.
 *
 * Unless HERALD_ENV is development, it refuses values that are not safe.
 * @param problemsOf says what several settings together have wrong; it is asked where each is right by itself
 * @throws ConfigError listing every problem; it never repeats a secret's value.
 */
export function readConfig<const S extends Settings>(
  settings: S,
  environment: Environment = process.env,
  problemsOf: (config: Config<S>) => readonly string[] = () => [],
): Config<S> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  const all: Settings = { ...safetySettings, ...settings };
  for (const [name, setting] of Object.entries(all)) {
    const text = readText(name, setting, environment, problems);
    if (text !== undefined) values[name] = text;
  }
  const validate = new Ajv({ allErrors: true, coerceTypes: true, useDefaults: true, strict: false }).compile(
    schemaOf(all),
  );
  if (validate(values)) problems.push(...problemsOf(values as Config<S>));
  else {
    // A setting that is missing because its file can't be read is among the problems already.
    const isKnown = ({ keyword, params }: ErrorObject) =>
      keyword === "required" && problems.some((problem) => problem.startsWith(`${params.missingProperty}_FILE `));
    for (const error of validate.errors ?? []) if (!isKnown(error)) problems.push(describe(error, all, values));
  }
  if (values.HERALD_ENV !== "development") problems.push(...unsafeSettings(values));
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.fromEntries(Object.entries(values).filter(([name]) => name in settings)) as Config<S>;
}

/** Makes something of one setting's value, such as a list of networks. @throws ConfigError that names the setting, where `read` throws */
export function readSetting<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { message } = error as Error;
    throw new ConfigError([message.startsWith(name) ? message : `${name}: ${message}`]);
  }
}

function readText(name: string, setting: Setting, environment: Environment, problems: string[]): string | undefined {
  const text = environment[name];
  if (text) return text;
  const file = setting.secret || setting.fromFile ? environment[`${name}_FILE`] : undefined;
  if (!file) return undefined;
  try {
    return readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    problems.push(`${name}_FILE names a file that can't be read: ${(error as Error).message}`);
    return undefined;
  }
}

function schemaOf(settings: Settings): object {
  const properties = Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => {
      const { required: _required, secret: _secret, fromFile: _fromFile, shared: _shared, ...schema } = setting;
      return [name, schema];
    }),
  );
  const required = Object.keys(settings).filter((name) => settings[name]?.required);
  return { type: "object", properties, required };
}

function describe(error: ErrorObject, settings: Settings, values: Record<string, unknown>): string {
  if (error.keyword === "required") {
    const name = String(error.params.missingProperty);
    return `${name} is missing: ${settings[name]?.description ?? ""}`;
  }
  const name = error.instancePath.slice(1);
  const setting = settings[name];
  const given = setting?.secret ? "its value (not shown)" : JSON.stringify(values[name]);
  const expected =
    error.keyword === "enum" ? `must be one of ${setting?.enum?.join(", ")}` : (error.message ?? "is not valid");
  return `${name} ${expected}, but is ${given}: ${setting?.description ?? ""}`;
}
