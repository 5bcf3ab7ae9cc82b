import { hostname, userInfo } from "node:os";
import type { Environment } from "@herald/common/config/read-config";
import { type Clock, machineClock as ownClock } from "@herald/common/runtime/clock";
import { oneLine, printable } from "./output.ts";

/** What an action did, for its audit line: counts and ids, and never a secret or a payload. */
export type Details = Readonly<Record<string, unknown>>;

interface Change {
  /** "rejected discard" */
  action: string;
  args: readonly string[];
  /** Asked when the line is written. */
  who: () => string;
  stderr: (text: string) => void;
  machineClock?: Clock | undefined;
  /** Whether an error says that arguments or settings can't be used: then nothing was changed, and there is no line. */
  isRefusal: (error: unknown) => boolean;
}

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
export async function audited(
  { action, args, who, stderr, machineClock = ownClock, isRefusal }: Change,
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
      who: who(),
      what: args,
      result,
      details,
    };
    stderr(`${printable(JSON.stringify(line))}\n`);
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
