import { ConfigError, type Environment, readConfig } from "@herald/common/config/read-config";
import type { Setting } from "@herald/common/config/settings";
import { JUDGED_SETTINGS } from "@herald/common/config/unsafe-settings";
import { heraldVersion } from "@herald/common/telemetry/metrics";
import { type Command, type CommandContext, EXIT, type RunContext, UsageError } from "./command.ts";
import { dispatchCommand } from "./dispatch/dispatch-command.ts";
import { doctorCommand } from "./doctor/doctor-command.ts";
import { endpointsCommand } from "./endpoints/endpoints-command.ts";
import { findCommand } from "./find/find-command.ts";
import { keysCommand } from "./keys-command.ts";
import { migrateCommand } from "./migrate-command.ts";
import { organizationsCommand } from "./organizations-command.ts";
import { printable } from "./output.ts";
import { rejectedCommand } from "./rejected/rejected-command.ts";
import { relayCommand } from "./relay/relay-command.ts";
import { serveCommand } from "./serve/serve-command.ts";

const commands: Record<string, Command> = {
  serve: serveCommand,
  migrate: migrateCommand,
  keys: keysCommand,
  doctor: doctorCommand,
  endpoints: endpointsCommand,
  find: findCommand,
  rejected: rejectedCommand,
  relay: relayCommand,
  organizations: organizationsCommand,
  dispatch: dispatchCommand,
};

const HELP = `herald: what an operator does by hand

  herald COMMAND [options]
  herald COMMAND --help
  herald --version

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(13)} ${summary}`)
  .join("\n")}

It reads the same environment variables as the services, and refuses what is not safe in production; serve and doctor read those of all
services, and what only relay read is in their help. A value that holds a secret may also come from a file that <NAME>_FILE names.

What changes something also writes a line of JSON with "audit":true to standard error: who did what, and how it ended.

Exit code: 0 done, 1 failed or faults found, 2 wrong arguments, 78 settings that can't be used.
`;

function helpOf(name: string, { summary, actions, help }: Command): string {
  const lines = Object.entries(actions).map(([word, { usage }]) =>
    ["  herald", name, word, usage].filter(Boolean).join(" "),
  );
  return `herald ${name}: ${summary}\n\n${lines.join("\n")}\n\n${help}`;
}

/** How often a command that takes longer says what it is doing. */
const PROGRESS_SECONDS = 5;

/** Runs the command that the arguments name. Returns the process's exit code; by then it has written all problems to stderr. */
export async function herald(args: readonly string[], context: CommandContext): Promise<number> {
  // All text goes to the terminal here. Bytes are the content that --body asks for.
  const stdout: CommandContext["stdout"] = (text) => context.stdout(typeof text === "string" ? printable(text) : text);
  const stderr = (text: string) => context.stderr(printable(text));
  const [name, ...rest] = args;
  if (name === undefined || isHelp(name)) {
    (name === undefined ? stderr : stdout)(HELP);
    return name === undefined ? EXIT.usage : EXIT.done;
  }
  if (name === "--version") {
    stdout(`${heraldVersion()}\n`);
    return EXIT.done;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    stderr(`herald: there is no command "${name}".\n\n${HELP}`);
    return EXIT.usage;
  }
  if (rest.some(isHelp)) {
    stdout(helpOf(name, command));
    return EXIT.done;
  }
  let [doing, seconds] = ["", 0];
  const saying = setInterval(() => {
    seconds += PROGRESS_SECONDS;
    if (doing !== "") stderr(`herald ${name}: ${doing} (${seconds} s)\n`);
  }, PROGRESS_SECONDS * 1_000);
  try {
    // The doctor tells it as findings, and serve with all that is wrong with its settings.
    if (command !== doctorCommand && command !== serveCommand) assertSafe(context.environment);
    await run(name, command, rest, {
      ...context,
      stdout,
      stderr,
      progress: (now) => {
        doing = now;
      },
    });
    return EXIT.done;
  } catch (error) {
    stderr(`herald ${name}: ${(error as Error).message}\n`);
    if (error instanceof ConfigError) return EXIT.configuration;
    if (!(error instanceof UsageError) && !isParseError(error)) return EXIT.failed;
    stderr(`"herald ${name} --help" says what it takes.\n`);
    return EXIT.usage;
  } finally {
    clearInterval(saying);
  }
}

async function run(
  name: string,
  { actions }: Command,
  args: string[],
  context: Omit<RunContext, "action">,
): Promise<void> {
  const [word = ""] = args;
  const named = Object.hasOwn(actions, word) && word !== "" ? actions[word] : undefined;
  if (named) return await named.run(args.slice(1), { ...context, action: `${name} ${word}` });
  if (!actions[""]) throw new UsageError(`It takes one of ${Object.keys(actions).join(", ")}.`);
  await actions[""].run(args, { ...context, action: name });
}

/** Refuses what production must not run with, whatever a command needs of it: all faults are shown at once. @throws ConfigError */
function assertSafe(environment: Environment): void {
  // Only what is unsafe in production is judged here. Declared as secrets, all may come from files, and no message shows a value.
  const judged: Setting = { type: "string", secret: true, description: "" };
  readConfig(Object.fromEntries(JUDGED_SETTINGS.map((name) => [name, judged])), environment);
}

function isHelp(argument: string): boolean {
  return argument === "--help" || argument === "-h" || argument === "help";
}

/** Whether node:util's parseArgs threw it. */
function isParseError(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith("ERR_PARSE_ARGS");
}
