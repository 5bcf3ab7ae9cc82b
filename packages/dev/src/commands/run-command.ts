/** A wrong argument. The command prints the message, and points to --help. */
export class UsageError extends Error {}

/**
 * Runs a command that a person typed: prints its help if asked, prints errors as text, and sets the exit code: 0, 1 after
 * a failure, 2 for wrong arguments.
 */
export async function runCommand(help: string, command: () => Promise<void>): Promise<void> {
  if (process.argv.slice(2).some((argument) => argument === "--help" || argument === "-h")) {
    console.log(help);
    return;
  }
  try {
    await command();
  } catch (error) {
    const wrongArguments = error instanceof UsageError || isParseError(error);
    console.error(error instanceof Error ? error.message : String(error));
    if (wrongArguments) console.error("\nRun it with --help to see its arguments.");
    process.exitCode = wrongArguments ? 2 : 1;
  }
}

/** Whether node:util's parseArgs threw it. */
function isParseError(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}
