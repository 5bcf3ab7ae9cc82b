import { join } from "node:path";
import { projectFolder } from "@herald/testkit/stack/folders";
import { runProgram } from "@herald/testkit/stack/programs";
import type { ChaosEnvironment } from "../environment/open-environment.ts";

/** Between two looks whether the events that come again are stored. */
const LOOK_EVERY_MS = 500;
/** Then attempts begin, whatever the inbox holds: what is stored later is only delivered later. */
const STORED_WITHIN_MS = 120_000;

/** Runs the command of this checkout, as an operator does. */
export function heraldRestore({ servers, namespace }: ChaosEnvironment, ...args: string[]): Promise<string> {
  const [amqpUrl] = servers.amqpUrls();
  const settings = {
    HERALD_ENV: "development",
    DATABASE_URL: servers.databaseUrl().href,
    AMQP_URL: amqpUrl?.href,
    BROKER_NAMESPACE: namespace,
  };
  const main = join(projectFolder(), "packages", "cli", "dist", "main.js");
  return runProgram(process.execPath, [main, "restore", ...args], {
    what: `herald restore ${args.join(" ")}`,
    env: { PATH: process.env.PATH, ...settings },
  });
}

/** As an operator sees that the gap is closed. */
export async function untilStored(
  environment: ChaosEnvironment,
  pause: (durationMs: number) => Promise<void>,
): Promise<void> {
  const deadline = Date.now() + STORED_WITHIN_MS;
  for (;;) {
    const { inbox } = JSON.parse(await heraldRestore(environment, "status", "--json")) as { inbox: number };
    if (inbox === 0 || Date.now() > deadline) return;
    await pause(LOOK_EVERY_MS);
  }
}
