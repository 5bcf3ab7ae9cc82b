import type { Environment } from "@herald/common/config/read-config";

/** What a command has besides its arguments. */
export interface Surroundings {
  environment: Environment;
  /** Results, for a person or the next program. Text comes with its line breaks. */
  out: (text: string | Uint8Array) => void;
  /** Progress and problems, for a person. */
  err: (text: string) => void;
}

/** One of the things that `herald` does. */
export interface Command {
  /** One line for the list of commands. */
  summary: string;
  help: string;
  /**
   * @throws UsageError for arguments that it can't use, ConfigError for a configuration that it can't use, any other error
   *   where it failed
   */
  run(args: string[], surroundings: Surroundings): Promise<void>;
}

/** Arguments that can't be used; says what was expected. */
export class UsageError extends Error {}

/** What an operator's scripts can tell apart. */
export const EXIT = { done: 0, failed: 1, usage: 2, configuration: 78 } as const;

/** Reads a whole number of at least 1 from an option. */
export function positiveInteger(option: string, text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1)
    throw new UsageError(`${option} takes a whole number from 1 on; "${text}" is none.`);
  return value;
}
