import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { runProgram } from "@herald/dev/stack/programs";
import type { ChaosEnvironment } from "../environment/open-environment.ts";

/** Runs the command of this checkout on the broker of the run, as an operator does, with these settings besides. Returns what it says. */
export function heraldCommand(
  { servers, namespace }: ChaosEnvironment,
  settings: Record<string, string>,
  ...args: string[]
): Promise<string> {
  const [amqpUrl] = servers.amqpUrls();
  const main = join(projectFolder(), "packages", "cli", "dist", "main.js");
  return runProgram(process.execPath, [main, ...args], {
    what: `herald ${args.join(" ")}`,
    env: {
      PATH: process.env.PATH,
      HERALD_ENV: "development",
      AMQP_URL: amqpUrl?.href,
      BROKER_NAMESPACE: namespace,
      ...settings,
    },
  });
}
