import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { eventually } from "@herald/dev/harness/eventually";
import { answers, freePort } from "@herald/dev/stack/ports";
import { startVerifyingServer } from "./csharp-server.ts";

/** What starts a receiver, which finds its port in PORT. */
export interface Startable {
  command: (port: number) => [program: string, ...args: string[]];
  /** It verifies, but does not listen: another server asks it. */
  verifiesOnly?: true;
}

/** A receiver that listens. */
export interface RunningReceiver {
  url: URL;
  close(): Promise<void>;
}

/** Starts a receiver, and waits until it listens. */
export async function startProgram(
  { command, verifiesOnly }: Startable,
  cwd: string,
  secret: string,
): Promise<RunningReceiver> {
  const port = await freePort();
  const [program, ...args] = command(port);
  const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: secret };
  const child = spawn(program, args, { cwd, env, stdio: [verifiesOnly ? "pipe" : "ignore", "pipe", "pipe"] });
  const said = lastWords(child);
  const url = new URL(`http://127.0.0.1:${port}/webhooks`);
  if (verifiesOnly) {
    const server = await startVerifyingServer(child, port);
    return { url, close: () => server.close().then(() => end(child)) };
  }
  try {
    await eventually(async () => {
      if (await answers(port)) return;
      throw new Error(`${program} ${child.exitCode === null ? "does not listen yet" : "has ended"}:\n${said()}`);
    });
  } catch (error) {
    await end(child);
    throw error;
  }
  return { url, close: () => end(child) };
}

/** The end of what it prints. It is read all the time, since a full pipe would stop the program. */
function lastWords({ stdout, stderr }: ChildProcess): () => string {
  let text = "";
  for (const stream of [stdout, stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      text = (text + chunk).slice(-2000);
    });
  }
  return () => text;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "close");
}
