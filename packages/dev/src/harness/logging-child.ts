import { spawn } from "node:child_process";

/** Arguments by which Node runs a text. */
export const program = (text: string): string[] => ["--input-type=module", "--eval", text];

/**
 * Runs Node with these arguments, a file of the built code or a {@link program}, and reads its log: lines of JSON. The first one that has an
 * `operationsPort` says where the process answers.
 */
export function loggingChild(args: readonly string[], { cwd, env }: { cwd?: string; env: NodeJS.ProcessEnv }) {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.on("data", (data) => {
    printed += data;
  });
  const lines = () =>
    printed
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return {
    lines,
    /** Asks at its operations port. */
    async get(path: string): Promise<string> {
      const port = lines().find(({ operationsPort }) => operationsPort)?.operationsPort;
      return await (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: "close" } })).text();
    },
    kill: () => void child.kill(),
  };
}
