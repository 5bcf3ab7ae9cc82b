import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { eventually } from "../src/harness/eventually.ts";
import { identify, isAlive, type ProcessIdentity } from "../src/stack/process-identity.ts";
import { endStaleProcesses, startProcess } from "../src/stack/processes.ts";

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

function identityOf(pid: number): ProcessIdentity {
  const identity = identify(pid);
  if (identity === undefined) throw new Error(`There is no process ${pid}.`);
  return identity;
}

test("a process that does not want to end is ended with its children, and its pid file goes", async () => {
  const lines: string[] = [];
  const shell = await start(stubborn, (line) => lines.push(line));
  const child = await eventually(() => identityOf(Number(/child (\d+)/.exec(lines.join("\n"))?.[1])));
  expect(readdirSync(folder)).toEqual(["shell.json"]);
  await shell.stop(50);
  expect(await shell.exited).toEqual({ code: null, signal: "SIGKILL" });
  await eventually(() => expect(isAlive(child)).toBe(false));
  expect(readdirSync(folder)).toEqual([]);
});

test("a program that does not exist is an error that names the process", async () => {
  const missing = { name: "nothing", command: "/nowhere/nothing", args: [], pidFolder: folder, mark: "nothing" };
  await expect(startProcess(missing)).rejects.toThrow(/^nothing did not start: .*ENOENT/);
});

test("the last lines of a process are kept to explain its end", async () => {
  const shell = await start("for i in $(seq 100); do echo line $i; done; echo oops >&2; exit 3");
  expect(await shell.exited).toEqual({ code: 3, signal: null });
  await eventually(() => expect(shell.lastLines()).toContain("oops"));
  expect(shell.lastLines().length).toBeLessThanOrEqual(40);
});

describe("after a killed run", () => {
  const left: ProcessIdentity[] = [];

  afterEach(() => {
    for (const identity of left.splice(0)) if (isAlive(identity)) process.kill(identity.pid, "SIGKILL");
  });

  /** A process without a parent that ends it, with a pid file such as a run writes. */
  async function leave(name: string, record: (identity: ProcessIdentity) => object): Promise<ProcessIdentity> {
    const child = spawn("/bin/sh", ["-c", "sleep 300; : the-mark"], { detached: true, stdio: "ignore" });
    child.unref();
    const identity = await eventually(() => identityOf(child.pid as number));
    left.push(identity);
    writeFileSync(join(folder, `${name}.json`), JSON.stringify({ name, mark: "the-mark", ...record(identity) }));
    return identity;
  }

  test("a process that a killed run left is ended by the next one", async () => {
    const ours = await leave("ours", (identity) => identity);
    expect(await endStaleProcesses(folder)).toEqual(["ours"]);
    await eventually(() => expect(isAlive(ours)).toBe(false));
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a process that a killed run left is not ended if its pid now belongs to another program", async () => {
    const others = [
      await leave("later", (identity) => ({ ...identity, startedAt: "1" })),
      await leave("unlike", (identity) => ({ ...identity, mark: "another-mark" })),
    ];
    expect(await endStaleProcesses(folder)).toEqual([]);
    expect(others.map(isAlive)).toEqual([true, true]);
    expect(readdirSync(folder)).toEqual([]);
  });
});
