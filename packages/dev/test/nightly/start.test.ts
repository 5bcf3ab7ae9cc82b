import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { decodeJwt } from "jose";
import { eventually } from "../../src/harness/eventually.ts";
import { projectFolder } from "../../src/stack/folders.ts";
import { commandLine } from "../../src/stack/lock-file.ts";
import { freePort } from "../../src/stack/ports.ts";
import { removePostgresData } from "../../src/stack/postgres-programs.ts";
import { runToEnd } from "../../src/stack/programs.ts";
import type { RunInfo } from "../../src/start/local-files.ts";

const COMMANDS = join(projectFolder(), "packages", "dev", "dist", "commands");
/** Long enough for a machine that is ten times slower. */
const START_TIMEOUT_MS = 300_000;

/** A `pnpm start` of a test: what the script runs, with a data folder of its own. */
interface HeraldProcess {
  child: ChildProcess;
  /** Everything it wrote so far. */
  text(): string;
  /** Resolves when run.json is there, or rejects when the process ends before. */
  ready(): Promise<RunInfo>;
  /** Resolves with the exit code, or the signal's name. */
  ended: Promise<number | string | null>;
}

function startHerald(local: string, args: string[] = [], env: NodeJS.ProcessEnv = {}): HeraldProcess {
  const child = spawn(process.execPath, [join(COMMANDS, "start.js"), ...args], { env: environment(local, env) });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  let end: number | string | null | undefined;
  const ended = new Promise<number | string | null>((resolve) => {
    child.once("close", (code, signal) => {
      end = code ?? signal;
      resolve(end);
    });
  });
  return {
    child,
    text: () => text,
    ended,
    ready: async () => {
      const info = await eventually(
        () => {
          if (end !== undefined) return undefined;
          return JSON.parse(readFileSync(join(local, "run.json"), "utf8")) as RunInfo;
        },
        { timeoutMs: START_TIMEOUT_MS, intervalMs: 50 },
      );
      if (info === undefined) throw new Error(`It ended with ${end} before it was ready:\n${text}`);
      return info;
    },
  };
}

/** Runs `pnpm <command>` to its end. */
const runCommand = (command: string, args: readonly string[], local: string) =>
  runToEnd(process.execPath, [join(COMMANDS, `${command}.js`), ...args], { env: environment(local) });

function environment(local: string, env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const { npm_lifecycle_event: _script, NODE_OPTIONS: _options, NODE_ENV: _environment, ...inherited } = process.env;
  return { ...inherited, HERALD_LOCAL_FOLDER: local, ...env };
}

/** The processes that serve from a local folder, or are a service of the Herald there, by their names. */
function processesOf(herald: HeraldProcess): Record<string, number> {
  const found = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === herald.child.pid)
    .map((pid) => [nameOf(commandLine(Number(pid))), Number(pid)] as const);
  return Object.fromEntries(found.filter(([name]) => name !== undefined));
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}

const nameOf = (command: string) =>
  /services\/([\w-]+)\/dist|\b(postgres) -D|\b(epmd) -port/.exec(command)?.slice(1).find(Boolean) ??
  (command.includes("rabbit") ? "rabbitmq" : undefined);

// Real processes, with their own PostgreSQL and RabbitMQ, as a person starts them.
const STACK = ["dispatcher", "epmd", "management-api", "postgres", "publisher", "rabbitmq"];

const local = mkdtempSync(join(tmpdir(), "herald-start-"));
let herald: HeraldProcess;
let info: RunInfo;

afterAll(() => {
  removePostgresData(join(local, "postgres"));
  removePostgresData(local);
});

function api(path: string, init: { method?: string; body?: object; token?: string } = {}): Promise<Response> {
  return fetch(`${info.apiUrl}/api/organization/integration-operations${path}`, {
    method: init.method ?? "GET",
    headers: {
      authorization: `Bearer ${init.token ?? info.token}`,
      "content-type": "application/json",
      connection: "close",
    },
    ...(init.body && { body: JSON.stringify(init.body) }),
  });
}

async function expectAllGone(pids: Record<string, number>): Promise<void> {
  await eventually(() => expect(Object.entries(pids).filter(([, pid]) => commandLine(pid) !== "")).toEqual([]));
}

describe("pnpm start", () => {
  const taken = createServer();
  let takenPort: number;

  beforeAll(async () => {
    takenPort = await freePort();
    await new Promise<void>((resolve) => taken.listen(takenPort, "127.0.0.1", resolve));
    herald = startHerald(local, [], { PORT: `${takenPort}` });
    info = await herald.ready();
  }, START_TIMEOUT_MS);

  afterAll(async () => {
    taken.close();
    herald.child.kill("SIGTERM");
    await herald.ended;
  }, START_TIMEOUT_MS);

  test("the panel holds what a person needs", async () => {
    // It is printed behind run.json, for which this file has waited.
    for (const text of [info.adminSignInUrl, info.token, info.amqpUrl, info.receiverUrl, "emit WorkItemCompleted"]) {
      await eventually(() => expect(herald.text()).toContain(text));
    }
  });

  test("the API takes the next free port if PORT is taken", () => {
    expect(Number(new URL(info.apiUrl).port)).toBeGreaterThan(takenPort);
  });

  test("an event that is emitted arrives at the demo receiver, verified", async () => {
    const endpoint = { name: "Demo", url: info.receiverUrl, enabled: true, events: ["WorkItemCompleted"] };
    expect((await api("/webhooks", { method: "POST", body: endpoint })).status).toBe(200);
    const emitted = await runCommand("emit", ["WorkItemCompleted", "--change", "Status=Open:Done"], local);
    expect(emitted).toMatchObject({ code: 0, stderr: "" });
    const id = /WorkItemCompleted (\S+) of/.exec(emitted.stdout)?.[1] ?? "none";
    await eventually(() => expect(herald.text()).toMatch(new RegExp(`verified[\\s\\S]*event ${id}`)));
  });

  test("pnpm token mints rights as asked for", async () => {
    const { stdout, code } = await runCommand("token", [], local);
    expect(code).toBe(0);
    expect((await api("/webhooks", { token: stdout.trim() })).status).toBe(200);

    const args = ["--organization", "other", "--permissions", "", "--expires-in", "1h"];
    const narrow = (await runCommand("token", args, local)).stdout.trim();
    const { organization_id, permissions, exp = 0, iat = 0 } = decodeJwt(narrow);
    expect({ organization_id, permissions, life: exp - iat }).toEqual({
      organization_id: "other",
      permissions: [],
      life: 3600,
    });
    expect((await api("/webhooks", { token: narrow })).status).toBe(403);
  });

  test.each([
    ["emit", [], 2, /Which event\?.*WorkItemCompleted/],
    ["emit", ["RiskCreated", "--colour", "red"], 2, /--colour/],
    ["emit", ["RiskCreated", "--entity-id", "7"], 1, /entityId/],
    ["token", ["--expires-in", "soon"], 2, /such as 1h/],
  ] as const)("wrong arguments are explained: %s %j", async (command, args, code, message) => {
    const result = await runCommand(command, args, local);
    expect(result.code).toBe(code);
    expect(result.stderr).toMatch(message);
    expect(result.stderr).not.toMatch(/\n\s+at /);
  });

  test("a second pnpm start says that Herald runs already, and where", async () => {
    const second = await runCommand("start", [], local);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`process ${herald.child.pid}`);
    expect(second.stderr).toContain(info.apiUrl);
  });

  test("pnpm herald is for the Herald that runs here", () => {
    const herald = (...args: string[]) => {
      const command = [join(projectFolder(), "packages/dev/bin/command.js"), "packages/cli/src/main", ...args];
      const { PATH } = process.env;
      return spawnSync(process.execPath, command, { env: { PATH, HERALD_LOCAL_FOLDER: local }, encoding: "utf8" });
    };
    expect(herald("doctor").stdout).toMatch(/^ok {2,}what waits/m);
    expect(herald("doctor").stdout).not.toMatch(/^fault/m);
    expect(herald("--version").stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test(
    "a service that crashes is reported with its last lines, and ends pnpm start",
    async () => {
      process.kill(processesOf(herald).dispatcher ?? 0, "SIGKILL");
      expect(await herald.ended).toBe(1);
      expect(herald.text()).toMatch(/dispatcher ended by itself \(signal SIGKILL\)[\s\S]*"started"/);
      herald = startHerald(local);
      info = await herald.ready();
    },
    START_TIMEOUT_MS,
  );

  test(
    "after a kill -9 nothing is left running, and the next start recovers by itself, with the same data",
    async () => {
      const pids = processesOf(herald);
      expect(Object.keys(pids).sort()).toEqual(STACK);
      herald.child.kill("SIGKILL");
      await herald.ended;
      await expectAllGone(pids);
      expect(readdirSync(local)).toContain("run.json");

      herald = startHerald(local);
      await eventually(() => expect(readdirSync(local)).not.toContain("run.json"));
      info = await herald.ready();
      expect(await (await api("/webhooks")).json()).toEqual([expect.objectContaining({ name: "Demo" })]);
    },
    START_TIMEOUT_MS,
  );

  test(
    "SIGTERM ends pnpm start and everything that it started",
    async () => {
      const pids = processesOf(herald);
      expect(Object.keys(pids).sort()).toEqual(STACK);
      herald.child.kill("SIGTERM");
      expect(await herald.ended).toBe(0);
      await expectAllGone(pids);
      expect(readdirSync(local)).not.toContain("run.json");
    },
    START_TIMEOUT_MS,
  );
});

describe("on a fresh clone, where nothing is built", () => {
  const clone = mkdtempSync(join(tmpdir(), "herald-clone-"));
  const text = readFileSync(join(projectFolder(), "package.json"), "utf8");
  const { scripts } = JSON.parse(text) as { scripts: Record<string, string> };
  // Only files that git has.
  beforeAll(() => {
    for (const folder of ["packages/dev/bin", "packages/dev/src/commands"])
      cpSync(join(projectFolder(), folder), join(clone, folder), { recursive: true });
  });
  afterAll(() => rmSync(clone, { recursive: true }));
  const run = (script: string, ...args: string[]) => {
    const [, command = ""] = /node (.*)$/.exec(scripts[script] ?? "") ?? [];
    return spawnSync(process.execPath, [...command.split(" "), ...args], { cwd: clone, encoding: "utf8" });
  };

  test.each(["start", "emit", "token"])("pnpm %s --help answers, and builds nothing", (script) => {
    const { status, stdout, stderr } = run(script, "--help");
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(new RegExp(`^ {2}pnpm (-s run )?${script}`, "m"));
  });

  test.each(["emit", "token"])("pnpm %s says how to start", (script) => {
    const { status, stderr } = run(script);
    expect(status).toBe(1);
    expect(stderr).toContain('Start it with "pnpm start"');
  });
});
