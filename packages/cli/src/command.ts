import type { Environment } from "@herald/common/config/read-config";
import type { Clock } from "@herald/common/runtime/clock";

/** A disk of this machine. */
export interface Disk {
  /** Where it is mounted. */
  path: string;
  bytes: number;
  freeBytes: number;
}

/** What a command works with, besides its arguments. */
export interface CommandContext {
  environment: Environment;
  /** Writes results, for a person or the next program. Text comes with its line breaks. */
  stdout: (text: string | Uint8Array) => void;
  /** Writes progress and problems, for a person. */
  stderr: (text: string) => void;
  /** Whether `stderr` is a terminal. */
  isTerminal?: boolean;
  /** That of the machine that it runs on; what is written goes by PostgreSQL's. */
  machineClock?: Clock;
  /** Those of the machine that it runs on. */
  disks?: () => readonly Disk[];
}

/** The same while a command runs. */
export interface RunContext extends CommandContext {
  /** Says what the command is at, for whoever waits. */
  progress: (text: string) => void;
}

/** One of the things that `herald` does. */
export interface Command {
  /** One line for the list of commands. */
  summary: string;
  help: string;
  /**
   * @throws UsageError for arguments that it can't use, ConfigError for settings that it can't use, any other error where
   *   it failed
   */
  run(args: string[], context: RunContext): Promise<void>;
}

/** The arguments can't be used; the text says what was expected. */
export class UsageError extends Error {}

/** Exit codes, which an operator's scripts can tell apart. */
export const EXIT = { done: 0, failed: 1, usage: 2, configuration: 78 } as const;

/** Reads a whole number of at least 1 from an option. */
export function positiveInteger(option: string, text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1)
    throw new UsageError(`${option} takes a whole number from 1 on, not "${text}".`);
  return value;
}
