import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { useBroker } from "@herald/dev/harness/use-broker";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";
import { BUILD_TIMEOUT_MS, output, withCopy, withoutPnpm } from "../../../src/child.ts";

// Each test.sh needs the tools of its language. If one is missing, the shell names it.

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
  3 * BUILD_TIMEOUT_MS,
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
