import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectFolder } from "../stack/folders.ts";
import { startProcess } from "../stack/processes.ts";
import { withoutPnpm } from "../stack/programs.ts";

/** What an app of examples/ reads from its environment; its README says what each means. */
export interface AppSettings {
  DATABASE_URL: string;
  AMQP_URL: string;
  BROKER_NAMESPACE: string;
  ORGANIZATION_ID: string;
  PORT: string;
  WEBHOOK_PORT: string;
  WEBHOOK_SECRET: string;
  TLS_CERT_FILE: string;
  TLS_KEY_FILE: string;
}

export interface RunningApp {
  stop(): Promise<void>;
}

/**
 * Starts a whole app of the folder examples/ by its `start.sh`, a product that emits and billing that receives, and resolves when it
 * listens. What it says goes to this process's standard error.
 *
 * @throws where it ends before that, with its last lines
 */
export async function startApp(name: string, settings: AppSettings): Promise<RunningApp> {
  const script = join(projectFolder(), "examples", name, "start.sh");
  let tellReady = () => {};
  const ready = new Promise<void>((resolve) => {
    tellReady = resolve;
  });
  const child = await startProcess({
    name: `example-${name}`,
    command: "sh",
    args: [script],
    env: { ...withoutPnpm(), HERALD: projectFolder(), ...settings },
    pidFolder: join(tmpdir(), "herald-examples"),
    mark: script,
    onLine: (line) => (line === "Ready." ? tellReady() : process.stderr.write(`${line}\n`)),
  });
  const ended = child.exited.then(({ code }) => {
    throw new Error(`examples/${name} ended with ${code} before it was ready:\n${child.lastLines().join("\n")}`);
  });
  await Promise.race([ready, ended]);
  return child;
}
