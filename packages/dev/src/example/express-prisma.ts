import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { projectFolder } from "../stack/folders.ts";
import { runProgram, withoutPnpm } from "../stack/programs.ts";
import type { AppSettings, Example, RunningApp } from "./example.ts";

/** Installing on a slow machine with cold caches. */
const BUILD_TIMEOUT_MS = 600_000;

export const expressPrisma: Example = {
  name: "express-prisma",
  async build() {
    const folder = await buildApp();
    return (settings) => startApp(folder, settings);
  },
};

/** Installs and compiles the example, with the packages of this checkout. Returns its folder. */
async function buildApp(): Promise<string> {
  const folder = join(projectFolder(), "examples", "express-prisma");
  const npm = async (what: string, args: string[]) => {
    await runProgram("npm", args, { what, cwd: folder, env: withoutPnpm(), timeoutMs: BUILD_TIMEOUT_MS });
  };
  // The scripts of Prisma's packages download engines that it does not need here.
  const quiet = ["--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts"];
  await npm("Installing the example", ["install", ...quiet]);
  mkdirSync(join(folder, "node_modules", "@herald"), { recursive: true });
  for (const name of ["emitter", "receiver"]) {
    const link = join(folder, "node_modules", "@herald", name);
    rmSync(link, { recursive: true, force: true });
    symlinkSync(join(projectFolder(), "packages", name), link);
  }
  await npm("Building the example", ["run", "build"]);
  return folder;
}

async function startApp(folder: string, settings: AppSettings): Promise<RunningApp> {
  const env = { ...process.env, ...settings };
  const child = spawn(process.execPath, ["dist/main.js"], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  const ready = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line === "Ready.") resolve();
    });
  });
  const ended = closed.then(() => {
    throw new Error(`The example ended with ${child.exitCode} before it was ready.`);
  });
  await Promise.race([ready, ended]);
  return {
    stop: async () => {
      child.kill("SIGTERM");
      await closed;
    },
  };
}
