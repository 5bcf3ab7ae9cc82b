import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectFolder } from "../stack/folders.ts";
import { type RunningProcess, startProcess } from "../stack/processes.ts";
import { runProgram } from "../stack/programs.ts";
import { installPythonPackages, type PythonPackages } from "../stack/python-packages.ts";
import { findOrInstallLanguage } from "../stack/test-programs.ts";
import type { AppSettings, Example, RunningApp } from "./example.ts";

const FOLDER = join(projectFolder(), "examples", "django");

/** The file that lists its packages. */
export const DJANGO_REQUIREMENTS = join(FOLDER, "requirements.txt");

export const django: Example = {
  name: "django",
  async build() {
    const python = await findOrInstallLanguage("python3");
    const packages = await installPythonPackages(python, DJANGO_REQUIREMENTS);
    return (settings) => startDjango(packages, settings);
  },
};

/** Makes the tables, and starts the app and `herald relay` beside it. */
export async function startDjango({ python, env }: PythonPackages, settings: AppSettings): Promise<RunningApp> {
  const { AMQP_URL, NAMESPACE, DATABASE_URL, ...own } = settings;
  // Without -B, Python would leave compiled files beside the example's.
  const app = { ...env, ...own, DATABASE_URL, PYTHONDONTWRITEBYTECODE: "1" };
  await runProgram(python, ["manage.py", "migrate", "--verbosity", "0"], {
    what: "Making the tables of examples/django",
    cwd: FOLDER,
    env: app,
  });
  const server = await start("examples/django", python, [join(FOLDER, "serve.py")], app, "Ready.");
  try {
    const relay = await start(
      "herald relay",
      process.execPath,
      [join(projectFolder(), "packages", "cli", "dist", "main.js"), "relay"],
      {
        PATH: process.env.PATH,
        HERALD_ENV: "development",
        OUTBOX_DATABASE_URL: DATABASE_URL,
        AMQP_URL,
        BROKER_NAMESPACE: NAMESPACE,
        OPERATIONS_PORT: "0",
        LOG_LEVEL: "warn",
      },
    );
    return {
      stop: async () => {
        await relay.stop();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/**
 * @param readyLine the process is ready when it has written this line; without it, at once
 * @throws where it ends before that, with its last lines
 */
async function start(
  name: string,
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  readyLine?: string,
): Promise<RunningProcess> {
  let tellReady = () => {};
  const ready = new Promise<void>((resolve) => {
    tellReady = resolve;
  });
  const child = await startProcess({
    name: name.replace(/\W/g, "-"),
    command,
    args,
    env,
    cwd: FOLDER,
    pidFolder: join(tmpdir(), "herald-examples"),
    mark: args[0] ?? command,
    onLine: (line) => (line === readyLine ? tellReady() : console.error(line)),
  });
  if (readyLine === undefined) return child;
  const ended = child.exited.then(({ code }) => {
    throw new Error(`${name} ended with ${code} before it was ready:\n${child.lastLines().join("\n")}`);
  });
  await Promise.race([ready, ended]);
  return child;
}
