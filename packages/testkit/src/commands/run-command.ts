/** An argument that cannot be used; told to the person with how to see the right ones. */
export class UsageError extends Error {}

/**
 * Runs a command that a person typed: prints its help where that is asked for, tells errors in words, and sets the exit
 * code: 0, 1 where it failed, 2 for wrong arguments.
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
    if (wrongArguments) console.error("\nWith --help it says what it takes.");
    process.exitCode = wrongArguments ? 2 : 1;
  }
}

/** What node:util's parseArgs throws. */
function isParseError(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}
