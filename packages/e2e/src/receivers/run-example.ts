import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { eventually } from "@herald/testkit/harness/eventually";
import { projectFolder } from "@herald/testkit/stack/folders";
import { answers, freePort } from "@herald/testkit/stack/ports";
import { startVerifyingServer, writeAskingProgram } from "./csharp-server.ts";
import type { Built, Language, Programs } from "./languages.ts";

/** A receiver of the examples that listens. */
export interface RunningExample {
  url: URL;
  close(): Promise<void>;
}

export interface BuiltExample {
  /** What runs it, such as "Python 3.11.2". */
  version: string;
  start(secret: string): Promise<RunningExample>;
  /** Deletes what was built. */
  remove(): void;
}

/** Compiles an example in a folder of its own, so that the checkout stays as it is. */
export async function buildExample(language: Language, programs: Programs): Promise<BuiltExample> {
  const folder = mkdtempSync(join(tmpdir(), "herald-receiver-"));
  const root = language.name === "Rust" ? dirname(dirname(language.file)) : dirname(language.file);
  cpSync(join(projectFolder(), root), folder, { recursive: true });
  if (language.name === "C#") writeAskingProgram(folder);
  const built = await language.build(folder, programs);
  return {
    version: built.version,
    start: (secret) => start(built, folder, secret),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function start(built: Built, cwd: string, secret: string): Promise<RunningExample> {
  const port = await freePort();
  const [program, ...args] = built.command(port);
  const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: secret };
  const child = spawn(program, args, { cwd, env, stdio: [built.verifiesOnly ? "pipe" : "ignore", "pipe", "pipe"] });
  const said = lastWords(child);
  if (built.verifiesOnly) {
    const server = await startVerifyingServer(child, port);
    return { url: urlOf(port), close: () => server.close().then(() => end(child)) };
  }
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended before it listened:\n${said()}`);
    if (!(await answers(port))) throw new Error(`${program} does not listen yet:\n${said()}`);
  });
  return { url: urlOf(port), close: () => end(child) };
}

function urlOf(port: number): URL {
  return new URL(`http://127.0.0.1:${port}/webhooks`);
}

/** The end of what it prints; it is read all the time, since a full pipe would stop the program. */
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
