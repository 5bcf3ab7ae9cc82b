import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { eventually } from "../src/harness/eventually.ts";
import { projectFolder } from "../src/stack/folders.ts";
import { isAlive } from "../src/stack/lock-file.ts";
import { freePort } from "../src/stack/ports.ts";
import { startPostgres } from "../src/stack/postgres.ts";
import { startProcess } from "../src/stack/processes.ts";

test("a port that another process was given is not given again before that process ends, though nothing listens there yet", async () => {
  const ports = join(projectFolder(), "packages", "dev", "dist", "stack", "ports.js");
  const first = await freePort();
  const script = `const { freePort } = await import(${JSON.stringify(ports)});
    console.log(await freePort(${first + 1}));
    process.stdin.resume();`;
  const other = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [given] = (await once(other.stdout, "data")) as [Buffer];
  const port = Number(given.toString());
  expect(await freePort(port)).not.toBe(port);
  other.stdin.end();
  await once(other, "close");
});

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "herald-processes-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** A shell that ignores what asks it to end, and a child of it: the two that are hardest to end. */
const stubborn = `trap '' TERM; sleep 300 & echo "child $!"; while :; do sleep 1; done # ${Math.random()}`;

function start(script: string, onLine?: (line: string) => void) {
  return startProcess({
    name: "shell",
    command: "/bin/sh",
    args: ["-c", script],
    ...(onLine && { onLine }),
  });
}

test("a process that does not want to end is ended with its children", async () => {
  const lines: string[] = [];
  const shell = await start(stubborn, (line) => lines.push(line));
  const child = await eventually(() => {
    const identity = { pid: Number(/child (\d+)/.exec(lines.join("\n"))?.[1]), mark: "sleep 300" };
    expect(isAlive(identity)).toBe(true);
    return identity;
  });
  await shell.stop(50);
  expect(await shell.exited).toEqual({ code: null, signal: "SIGKILL" });
  await eventually(() => expect(isAlive(child)).toBe(false));
});

test("a PostgreSQL starts in a folder that was deleted and made again, whose data may have been kept elsewhere", async () => {
  const own = join(folder, "postgres");
  const options = { folder: own, disposable: true };
  await (await startPostgres(options)).stop();
  rmSync(own, { recursive: true });
  const again = await startPostgres(options);
  await again.remove();
}, 120_000);
