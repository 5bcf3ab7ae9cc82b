import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { eventually } from "../src/harness/eventually.ts";
import { projectFolder } from "../src/stack/folders.ts";
import { isAlive, type ProcessIdentity } from "../src/stack/lock-file.ts";
import { freePort } from "../src/stack/ports.ts";
import { startPostgres } from "../src/stack/postgres.ts";
import { endStaleProcesses, startProcess } from "../src/stack/processes.ts";

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
    pidFolder: folder,
    mark: script,
    ...(onLine && { onLine }),
  });
}

test("a process that does not want to end is ended with its children, and its pid file goes", async () => {
  const lines: string[] = [];
  const shell = await start(stubborn, (line) => lines.push(line));
  const child = await eventually(() => {
    const identity = { pid: Number(/child (\d+)/.exec(lines.join("\n"))?.[1]), mark: "sleep 300" };
    expect(isAlive(identity)).toBe(true);
    return identity;
  });
  expect(readdirSync(folder)).toEqual(["shell.json"]);
  await shell.stop(50);
  expect(await shell.exited).toEqual({ code: null, signal: "SIGKILL" });
  await eventually(() => expect(isAlive(child)).toBe(false));
  expect(readdirSync(folder)).toEqual([]);
});

test("a PostgreSQL starts in a folder that was deleted and made again, whose data may have been kept elsewhere", async () => {
  const own = join(folder, "postgres");
  const options = { folder: own, pidFolder: folder, disposable: true };
  await (await startPostgres(options)).stop();
  rmSync(own, { recursive: true });
  const again = await startPostgres(options);
  await again.remove();
}, 120_000);

describe("after a killed run", () => {
  const left: ProcessIdentity[] = [];

  afterEach(() => {
    for (const identity of left.splice(0)) if (isAlive(identity)) process.kill(-identity.pid, "SIGKILL");
  });

  /** A process without a parent that ends it, with a pid file such as a run writes. */
  async function leave(name: string, mark: string): Promise<ProcessIdentity> {
    const child = spawn("/bin/sh", ["-c", "sleep 300; : the-mark"], { detached: true, stdio: "ignore" });
    child.unref();
    await once(child, "spawn");
    const identity = { pid: child.pid as number, mark: "the-mark" };
    left.push(identity);
    writeFileSync(join(folder, `${name}.json`), JSON.stringify({ name, pid: child.pid, mark }));
    return identity;
  }

  test("a process that a killed run left is ended by the next one", async () => {
    const ours = await leave("ours", "the-mark");
    expect(await endStaleProcesses(folder)).toEqual(["ours"]);
    await eventually(() => expect(isAlive(ours)).toBe(false));
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a process that a killed run left is not ended if its pid now belongs to another program", async () => {
    const other = await leave("other", "another-mark");
    expect(await endStaleProcesses(folder)).toEqual([]);
    expect(isAlive(other)).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  });
});
