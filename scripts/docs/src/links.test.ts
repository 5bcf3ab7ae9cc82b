import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { brokenLinks, markdownFiles } from "./links.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

test.each(markdownFiles(ROOT))("every link and path in %s leads to something", (file) => {
  expect(brokenLinks(ROOT, file)).toEqual([]);
});

test("each attacker of the threat model has a test that shows what Herald does", () => {
  const text = readFileSync(join(ROOT, "docs/threat-model.md"), "utf8");
  const rows = text.split("\n").filter((line) => /^\| (\*\*| *\|)/.test(line));
  expect(rows.length).toBeGreaterThan(15);
  expect(rows.filter((row) => !/\.test\.ts\)/.test(row))).toEqual([]);
});

test("links to missing files, headings and paths are found, in prose and not in code", () => {
  const folder = mkdtempSync(join(tmpdir(), "herald-links-"));
  try {
    writeFileSync(join(folder, "b.md"), "# A `b` heading, twice\n\n# A b heading, twice\n");
    const good = "[b](b.md) [c](b.md#a-b-heading-twice-1) [d](https://example.com) [e](#here)\n# Here\n";
    const code = "```sh\n[no link](code.md)\n```\n";
    writeFileSync(
      join(folder, "a.md"),
      `${good}${code}[a](none.md) [b](b.md#none) <img src="none.webp"> \`docs/none.md\``,
    );
    expect(brokenLinks(folder, "a.md")).toEqual(
      ["none.md", "b.md#none", "none.webp", "docs/none.md"].map((target) => `a.md points to ${target}`),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
