import { hostname, userInfo } from "node:os";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { ConfigError, type Environment } from "@herald/common/config/read-config";
import { type Clock, machineClock as ownClock } from "@herald/common/runtime/clock";
import { isTime } from "@herald/contracts";
import { oneLine } from "./output.ts";

/** The effects of an action, for its audit line: counts and ids, and never a secret or a payload. */
export type Details = Readonly<Record<string, unknown>>;

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** The user at this machine; behind sudo, the one who called it. */
export function operatorOf(environment: Environment): string {
  return `${environment.SUDO_USER || ownName()}@${hostname()}`;
}

function ownName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a number that has no name.
    return String(process.getuid?.());
  }
}

/**
 * Runs what changes something, and writes one line of JSON about it to standard error, as a service's log has them: who did what, with
 * which arguments, and how it ended.
 */
async function audited(
  { action, environment, stderr, machineClock = ownClock }: RunContext,
  args: readonly string[],
  run: () => Promise<Details> | Promise<void> | void,
): Promise<void> {
  function write(result: "done" | "failed" | "interrupted", details: Details = {}): void {
    const line = {
      timestamp: machineClock.now().toISOString(),
      level: "info",
      service: "herald",
      message: `herald ${action}`,
      audit: true,
      action,
      who: operatorOf(environment),
      what: args,
      result,
      details,
    };
    stderr(`${JSON.stringify(line)}\n`);
  }
  function interrupt(signal: NodeJS.Signals): void {
    write("interrupted");
    // Nobody listens any more, so this ends the process as the signal would have.
    process.kill(process.pid, signal);
  }
  for (const signal of SIGNALS) process.once(signal, interrupt);
  try {
    write("done", (await run()) ?? {});
  } catch (error) {
    if (!isRefusal(error)) write("failed", { error: oneLine((error as Error).message) });
    throw error;
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

export interface CommandContext {
  environment: Environment;
  /** Writes results, for a person or the next program. Text comes with its line breaks. */
  stdout: (text: string | Uint8Array) => void;
  /** Writes progress and problems, for a person. */
  stderr: (text: string) => void;
  /** The clock of the machine that the command runs on. Times that are stored come from PostgreSQL's clock instead. */
  machineClock?: Clock;
}

export interface RunContext extends CommandContext {
  /** The command and action that run, as "rejected discard". */
  action: string;
  /** Sets what the command is doing now, in a few words: they are written to `stderr` every five seconds. */
  progress: (text: string) => void;
}

export interface Command {
  summary: string;
  /** The actions by name, which follows the command's; "" for the action without a name. */
  actions: Record<string, Action>;
  help: string;
}

export interface Action {
  /** Its arguments, as the help shows them. */
  usage: string;
  /** @throws UsageError, or what parseArgs throws; ConfigError for settings that it can't use; any other error where it failed */
  run(args: string[], context: RunContext): Promise<void>;
}

type Options = NonNullable<ParseArgsConfig["options"]>;

type Parsed<Given extends Options> = ReturnType<typeof parseArgs<{ options: Given; allowPositionals: true }>>;

/** The options of one action, as parseArgs takes them, and its work with their values. */
export function action<const Given extends Options>({
  usage = "",
  options,
  words = false,
  changes,
  run,
}: {
  usage?: string;
  options?: Given;
  words?: boolean;
  /** Whether it changes something of Herald, with these options. Then it writes an audit line. */
  changes: boolean | ((values: Parsed<Given>["values"]) => boolean);
  run(values: Parsed<Given>["values"], context: RunContext, words: string[]): Promise<Details> | Promise<void> | void;
}): Action {
  return {
    usage,
    async run(args, context) {
      const parsed = parseArgs({ args, options: options ?? {}, allowPositionals: words }) as Parsed<Given>;
      const { values, positionals } = parsed;
      const isChange = typeof changes === "function" ? changes(values) : changes;
      const perform = () => run(values, context, positionals);
      if (isChange) await audited(context, args, perform);
      else await perform();
    },
  };
}

export const JSON_OPTION = { json: { type: "boolean", default: false } } as const;

/** The arguments can't be used; the text says what was expected. */
export class UsageError extends Error {}

/** Whether arguments or settings can't be used: then nothing was changed. */
const isRefusal = (error: unknown): boolean => error instanceof UsageError || error instanceof ConfigError;

/** Exit codes, which an operator's scripts can tell apart. */
export const EXIT = { done: 0, failed: 1, usage: 2, configuration: 78 } as const;

export function positiveInteger(option: string, text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1)
    throw new UsageError(`${option} takes a whole number from 1 on, not "${text}".`);
  return value;
}

/** Reads a time from an option. With a time zone: an operator's and a server's are seldom the same. */
export function timeOf(option: string, text: string | undefined): Date {
  if (!isTime(text)) throw new UsageError(`${option} takes a time such as 2026-01-31T12:00:00Z.`);
  return new Date(text);
}

/** Reads one of several words from an option; undefined if the option is not there. */
export function oneOf<Word extends string>(
  option: string,
  words: readonly Word[],
  text: string | undefined,
): Word | undefined {
  const word = words.find((each) => each === text);
  if (text !== undefined && word === undefined) throw new UsageError(`${option} takes one of ${words.join(", ")}.`);
  return word;
}

/** @throws UsageError unless there is exactly one */
export function onlyWord(words: readonly string[], what: string): string {
  const [word, ...more] = words;
  if (word === undefined || more.length > 0) throw new UsageError(`It takes ${what}.`);
  return word;
}
