import type { ChaosEnvironment } from "../environment/open-environment.ts";
import { heraldCommand } from "./herald-command.ts";

/** Between two looks whether the events that come again are stored. */
const LOOK_EVERY_MS = 500;
/** Then attempts begin, whatever the inbox holds: what is stored later is only delivered later. */
const STORED_WITHIN_MS = 120_000;

/** Runs `herald dispatch`, as an operator does. */
export function heraldDispatch(environment: ChaosEnvironment, ...args: string[]): Promise<string> {
  return heraldCommand(environment, { DATABASE_URL: environment.servers.databaseUrl().href }, "dispatch", ...args);
}

/** As an operator sees that the gap is closed. */
export async function untilStored(
  environment: ChaosEnvironment,
  pause: (durationMs: number) => Promise<void>,
): Promise<void> {
  const deadline = Date.now() + STORED_WITHIN_MS;
  for (;;) {
    const { inbox } = JSON.parse(await heraldDispatch(environment, "status", "--json")) as { inbox: number };
    if (inbox === 0 || Date.now() > deadline) return;
    await pause(LOOK_EVERY_MS);
  }
}
