import { ConfigError, type Environment, readConfig } from "@herald/common/config/read-config";
import type { Setting } from "@herald/common/config/settings";
import { JUDGED_SETTINGS } from "@herald/common/config/unsafe-settings";
import { machineClock } from "@herald/common/runtime/clock";
import { type Command, type CommandContext, EXIT, UsageError } from "./command.ts";
import { doctorCommand } from "./doctor/doctor-command.ts";
import { endpointsCommand } from "./endpoints/endpoints-command.ts";
import { eventsCommand } from "./events/events-command.ts";
import { findCommand } from "./find/find-command.ts";
import { lagCommand } from "./lag-command.ts";
import { makeKeysCommand } from "./make-keys-command.ts";
import { migrateCommand } from "./migrate-command.ts";
import { createProgress } from "./progress.ts";
import { rejectedCommand } from "./rejected/rejected-command.ts";
import { relayCommand } from "./relay/relay-command.ts";
import { restoreCommand } from "./restore/restore-command.ts";
import { rotateKeysCommand } from "./rotate-keys/rotate-keys-command.ts";
import { serveCommand } from "./serve/serve-command.ts";
import { splitCommand } from "./split/split-command.ts";

const commands: Record<string, Command> = {
  doctor: doctorCommand,
  migrate: migrateCommand,
  "make-keys": makeKeysCommand,
  "rotate-keys": rotateKeysCommand,
  rejected: rejectedCommand,
  lag: lagCommand,
  endpoints: endpointsCommand,
  find: findCommand,
  events: eventsCommand,
  relay: relayCommand,
  restore: restoreCommand,
  split: splitCommand,
  serve: serveCommand,
};

const HELP = `herald: what an operator does by hand

  herald COMMAND [options]
  herald COMMAND --help

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(13)} ${summary}`)
  .join("\n")}

It reads the same environment variables as the services: DATABASE_URL, DATABASE_CA_FILE, AMQP_URL, AMQP_CA_FILE,
BROKER_NAMESPACE, INBOX_BUCKETS, CELL, SECRET_KEYS, SECRET_SEALING_KEY, DATABASE_TIMEOUT_SECONDS, ENDPOINT_CONCURRENCY, PUBLICATION_WINDOW_DAYS, and
HERALD_ENV and ALLOW_PLAINTEXT: it refuses what is not safe in production. doctor reads those that it judges too,
serve reads those of all services, and those of relay and split are in their help. A value that holds a secret may also come from a file that
<NAME>_FILE names.

Exit code: 0 done, 1 failed or faults found, 2 wrong arguments, 78 settings that can't be used.
`;

const TICK_MS = 200;

/** Runs the command that the arguments name. Returns the process's exit code; by then it has written all problems to stderr. */
export async function herald(args: readonly string[], context: CommandContext): Promise<number> {
  const { stdout, stderr } = context;
  const [name, ...rest] = args;
  if (name === undefined || isHelp(name)) {
    (name === undefined ? stderr : stdout)(HELP);
    return name === undefined ? EXIT.usage : EXIT.done;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    stderr(`herald: there is no command "${name}".\n\n${HELP}`);
    return EXIT.usage;
  }
  if (rest.some(isHelp)) {
    stdout(command.help);
    return EXIT.done;
  }
  const { monotonicMs } = context.machineClock ?? machineClock;
  const progress = createProgress({
    name: `herald ${name}`,
    write: stderr,
    isTerminal: context.isTerminal ?? false,
    nowMs: monotonicMs,
  });
  const ticking = setInterval(progress.tick, TICK_MS);
  try {
    // The doctor tells it as findings, and serve with all that is wrong with its settings.
    if (command !== doctorCommand && command !== serveCommand) assertSafe(context.environment);
    await command.run(rest, {
      ...context,
      progress: progress.say,
      stdout: (text) => {
        progress.clear();
        stdout(text);
      },
      stderr: (text) => {
        progress.clear();
        stderr(text);
      },
    });
    return EXIT.done;
  } catch (error) {
    progress.clear();
    stderr(`herald ${name}: ${(error as Error).message}\n`);
    if (error instanceof ConfigError) return EXIT.configuration;
    if (!(error instanceof UsageError) && !isParseError(error)) return EXIT.failed;
    stderr(`"herald ${name} --help" says what it takes.\n`);
    return EXIT.usage;
  } finally {
    clearInterval(ticking);
    progress.clear();
  }
}

/**
 * Refuses what production must not run with, whatever a command needs of it: so all faults of an environment are shown at once.
 *
 * @throws ConfigError
 */
function assertSafe(environment: Environment): void {
  // Whether a value is right otherwise, its reader says. As secrets they may come from files, and are never shown.
  const judged: Setting = { type: "string", secret: true, description: "" };
  readConfig(Object.fromEntries(JUDGED_SETTINGS.map((name) => [name, judged])), environment);
}

function isHelp(argument: string): boolean {
  return argument === "--help" || argument === "-h" || argument === "help";
}

/** What node:util's parseArgs throws. */
function isParseError(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith("ERR_PARSE_ARGS");
}
