import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { machineClock } from "@herald/common/runtime/clock";
import { keyMark, newSealingKeys, readSealingKey } from "@herald/common/security/sealing-keys";
import { secretBox, secretSealer } from "@herald/common/security/secret-box";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";
import { callHerald, runHerald } from "./run-herald.ts";

const COMMANDS = ["doctor", "migrate", "keys", "rejected", "endpoints", "find", "relay", "dispatch", "serve"];
const SINCE = "2026-01-31T12:00:00Z";
const ID = "0199f3a2-7c1e-7b5a-9d3e-1f2a3b4c5d6e";
const UNREACHABLE = {
  DATABASE_URL: "postgresql://herald:do-not-show@127.0.0.1:1/herald",
  AMQP_URL: "amqp://herald:do-not-show@127.0.0.1:1",
  OUTBOX_DATABASE_URL: "postgresql://herald:do-not-show@127.0.0.1:1/product",
};

/** Actions that change something: each writes one audit line, here with servers that can't be reached. */
const AUDITED: [action: string, ...args: string[]][] = [
  ["migrate"],
  ["dispatch stop"],
  ["dispatch start"],
  ["keys rotate"],
  ["rejected replay", "--all"],
  ["rejected discard", "abcdef"],
  ["relay replay", "--since", SINCE],
  ["endpoints resume", "--disabled-since", SINCE, "--reason", "failures", "--apply"],
];
const NOT_AUDITED: [action: string, ...args: string[]][] = [
  ["dispatch status"],
  ["keys make"],
  ["keys rotate", "--dry-run"],
  ["rejected list"],
  ["rejected show", "abcdef"],
  ["endpoints list", "--disabled-since", SINCE],
  ["endpoints show", ID],
  ["endpoints resume", "--disabled-since", SINCE, "--reason", "failures"],
  ["find", "--event", ID],
  ["doctor", "--service", "publisher"],
];
/** They run until they are stopped, and log. */
const SERVICES = ["serve", "relay"];

const auditOf = async ([action, ...args]: string[], more: Record<string, string> = {}) =>
  (
    await callHerald([...(action ?? "").split(" "), ...args], {
      ...UNREACHABLE,
      SECRET_KEYS: newSealingKeys("k1").SECRET_KEYS,
      SUDO_USER: "olga",
      ...more,
    })
  ).audit;

test.each(AUDITED)(
  "herald %s says in one line who tried to change what, and how it ended, without a secret",
  async (...row) => {
    const [action, ...args] = row;
    const audit = await auditOf(row);
    expect(audit).toMatchObject({
      audit: true,
      action,
      what: args,
      result: "failed",
      level: "info",
      service: "herald",
    });
    expect(audit?.who).toBe(`olga@${hostname()}`);
    expect(audit?.details).toEqual({ error: expect.any(String) });
    expect(JSON.stringify(audit)).not.toContain("do-not-show");
  },
);

test.each(NOT_AUDITED)("herald %s changes nothing, and says so by no line", async (...row) => {
  expect(await auditOf(row)).toBeUndefined();
});

test("settings that can't be used change nothing, and are no audit line", async () => {
  expect(await auditOf(["migrate"], { DATABASE_URL: "" })).toBeUndefined();
});

test("of each action it is known here whether it changes something", async () => {
  const helps = await Promise.all(COMMANDS.map(async (name) => (await callHerald([name, "--help"])).stdout));
  const actions = helps.flatMap((help) => {
    const usages = help.split("\n\n")[1]?.split("\n") ?? [];
    return usages.map((line) => /^ {2}herald ((?:[a-z]+ ?)+)/.exec(line)?.[1]?.trim());
  });
  const known = [...AUDITED, ...NOT_AUDITED].map(([action]) => action);
  expect(actions.sort()).toEqual([...new Set([...known, ...SERVICES])].sort());
});

/** Runs a command with a PostgreSQL that says nothing, and interrupts it: once it has connected, or has written something. Returns what it wrote. */
async function interrupted(args: string[], when: "connected" | "written"): Promise<string> {
  const [main, silent] = [join(projectFolder(), "packages/cli/dist/main.js"), createServer()];
  const connected = once(silent, "connection");
  await once(silent.listen(0, "127.0.0.1"), "listening");
  const { port } = silent.address() as AddressInfo;
  const env = {
    PATH: process.env.PATH,
    HERALD_ENV: "development",
    DATABASE_URL: `postgresql://h:p@127.0.0.1:${port}/h`,
  };
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    if (when === "written") child.kill("SIGINT");
  });
  const [socket] = (await connected) as [Socket];
  if (when === "connected") child.kill("SIGINT");
  await once(child, "close");
  socket.destroy();
  silent.close();
  return stderr;
}

test("a command that is interrupted says so in its audit line", async () => {
  const audit = JSON.parse(await interrupted(["dispatch", "stop"], "connected"));
  expect(audit).toMatchObject({ action: "dispatch stop", result: "interrupted", details: {} });
});

test("a command that takes long says every five seconds what it is doing", async () => {
  expect(await interrupted(["dispatch", "status"], "written")).toMatch(/^herald dispatch: asks PostgreSQL \(5 s\)\n/);
});

test("herald without a command lists the commands, and fails", async () => {
  const { code, stdout, stderr } = await runHerald([]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  for (const name of COMMANDS) expect(stderr).toContain(`  ${name} `);
});

test("herald --help lists the commands, and each command has help of its own", async () => {
  expect(await runHerald(["--help"])).toMatchObject({ code: 0, stderr: "" });
  for (const name of COMMANDS) {
    const { code, stdout, stderr } = await callHerald([name, "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`herald ${name}: `);
  }
});

test.each([
  [["sing"]],
  [["toString"]],
  [["doctor", "now"]],
  [["doctor", "--service", "all"]],
  [["migrate", "now"]],
  [["dispatch", "status", "--xml"]],
  [["rejected"]],
  [["rejected", "burn"]],
  [["rejected", "list", "--limit", "0"]],
  [["rejected", "show"]],
  [["rejected", "show", "abc"]],
  [["rejected", "replay"]],
  [["rejected", "replay", "abcdef", "--all"]],
  [["rejected", "discard"]],
  [["keys", "rotate", "--page-size", "many"]],
  [["keys", "make", "now"]],
  [["keys", "make", "--id", "a b"]],
  [["endpoints"]],
  [["relay", "run"]],
  [["dispatch"]],
  [["dispatch", "pause"]],
  [["dispatch", "stop", "now"]],
  [["serve", "now"]],
  [["relay", "replay"]],
  [["relay", "replay", "--since", "yesterday"]],
  [["endpoints", "list"]],
  [["endpoints", "list", "--disabled-since", "yesterday"]],
  [["endpoints", "list", "--disabled-since", "2026-01-31T12:00"]],
  [["endpoints", "list", "--disabled-since", "2026-01-31T12:00:00Z", "--reason", "anger"]],
  [["endpoints", "list", "--disabled-since", "2026-01-31T12:00:00Z", "--apply"]],
  [["endpoints", "resume", "--disabled-since", "2026-01-31T12:00:00Z"]],
  [["find"]],
  [["find", "--event", "1"]],
  [["find", "--event", ID, "--entity", ID]],
  [["find", "--delivery", ID, "--limit", "0"]],
])("herald %j refuses its arguments", async (args) => {
  const { code, stdout, stderr } = await callHerald(args, UNREACHABLE);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("herald");
});

test.each([
  [["migrate"], ["DATABASE_URL"]],
  [["dispatch", "status"], ["DATABASE_URL"]],
  [["rejected", "list"], ["AMQP_URL"]],
  [["endpoints", "list", "--disabled-since", "2026-01-31T12:00:00Z"], ["DATABASE_URL"]],
  [["find", "--event", ID], ["DATABASE_URL"]],
  [["keys", "rotate"], ["SECRET_KEYS"]],
  [["relay"], ["OUTBOX_DATABASE_URL", "AMQP_URL"]],
  [["serve"], ["DATABASE_URL", "AMQP_URL", "SECRET_KEYS", "SECRET_SEALING_KEY"]],
  [
    ["serve", "all"],
    ["DATABASE_URL", "AMQP_URL", "SECRET_KEYS", "SECRET_SEALING_KEY"],
  ],
  [["relay", "replay", "--since", "2026-01-31T12:00:00Z"], ["OUTBOX_DATABASE_URL"]],
])("herald %j says which settings are missing", async (args, missing) => {
  const { code, stderr } = await callHerald(args);
  expect(code).toBe(78);
  for (const name of missing) expect(stderr).toContain(`${name} is missing`);
});

test("herald keys make prints a pair as two settings: the private one opens what is sealed to the public one", async () => {
  const clock = { ...machineClock, now: () => new Date("2026-01-31T23:59:59.999Z") };
  const { code, stdout, stderr } = await callHerald(["keys", "make"], {}, { machineClock: clock });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const made = parseEnv(stdout);
  expect(Object.keys(made)).toEqual(["SECRET_KEYS", "SECRET_SEALING_KEY"]);
  const sealed = secretSealer(made.SECRET_SEALING_KEY ?? "").seal("secret", ID);
  const [, hash] = /^2026-01-31-([0-9a-f]{4})\./.exec(sealed) ?? [];
  expect(keyMark(readSealingKey(made.SECRET_SEALING_KEY ?? ""))).toContain(` (${hash}`);
  expect(secretBox(made.SECRET_KEYS ?? "").open(sealed, ID)).toBe("secret");
  const again = await callHerald(["keys", "make", "--id", "k2"]);
  expect(again.stdout).toMatch(/^SECRET_KEYS=k2:/m);
  expect(again.stdout).not.toContain(made.SECRET_KEYS?.split(":")[1]);
});

const RIGHT = {
  DATABASE_URL: "postgresql://herald:do-not-show@127.0.0.1:1/herald",
  AMQP_URL: "amqp://herald:do-not-show@127.0.0.1:1",
  SECRET_KEYS: "k1:do-not-show",
  SECRET_SEALING_KEY: "k1:public",
};

test("herald serve says at once what is wrong with the settings of each of its services, and shows no secret", async () => {
  const wrong = { ...RIGHT, PORT: "high", MEMORY_MIB: "64", MAX_ENDPOINTS: "0", LOG_LEVEL: "loud" };
  const { code, stdout, stderr } = await callHerald(["serve"], wrong);
  expect({ code, stdout }).toEqual({ code: 78, stdout: "" });
  for (const name of ["PORT", "MEMORY_MIB", "MAX_ENDPOINTS", "LOG_LEVEL"]) expect(stderr).toContain(`${name} must be`);
  expect(stderr).not.toContain("do-not-show");
});
