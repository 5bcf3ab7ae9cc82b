import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { askForProgram, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { useBroker } from "@herald/dev/harness/use-broker";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";
import { BUILD_TIMEOUT_MS, output, withCopy, withoutPnpm } from "../../../src/child.ts";

/** The tools of other languages, by which the test.sh of an example begins a line or a program. */
const TOOLS = ["cargo", "go", "javac", "mcs", "mvn", "php", "python", "ruby"] as const;

/** Where rustup's cargo has its toolchain. By itself it looks below HOME, and a run may have an empty one. */
const RUSTUP_HOME = process.env.RUSTUP_HOME ?? join(userInfo().homedir, ".rustup");

const broker = useBroker();

const scripts = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "examples/*test.sh"], {
  cwd: projectFolder(),
  encoding: "utf8",
});
const folders = scripts
  .trim()
  .split("\n")
  .map((file) => dirname(file).replace("examples/", ""));

test.each(folders)(
  "examples/%s does what its test.sh asks of it",
  async (folder) => {
    const script = readFileSync(join(projectFolder(), "examples", folder, "test.sh"), "utf8");
    for (const tool of TOOLS) if (new RegExp(`(^|\\s)${tool}3? `, "m").test(script)) await askForProgram(tool);
    const command = [process.execPath, join(projectFolder(), "packages/dev/bin/command.js")];
    const env = {
      ...withoutPnpm(),
      HERALD: projectFolder(),
      TRY: [...command, "packages/e2e/src/commands/try-example"].join(" "),
      AMQP_URL: broker.url,
      ...(existsSync(RUSTUP_HOME) && { RUSTUP_HOME }),
    };
    await withCopy(folder, (copy) => output("sh", ["test.sh"], copy, env));
  },
  3 * BUILD_TIMEOUT_MS + STACK_TIMEOUT_MS,
);

test.each(["receiving-webhooks", "emitting-events"])("each program that docs/%s.md says ran has a test.sh", (page) => {
  const text = readFileSync(join(projectFolder(), "docs", `${page}.md`), "utf8");
  const rows = [...text.matchAll(/^\| \[[^\]]+\]\(\.\.\/examples\/([^)]+)\).*$/gm)];
  expect(rows.length).toBeGreaterThan(2);
  const wrong = rows.filter(([, file = ""]) => {
    const [folder = ""] = file.split("/");
    return !existsSync(join(projectFolder(), "examples", folder, "test.sh"));
  });
  expect(wrong.map(([row]) => row)).toEqual([]);
});
