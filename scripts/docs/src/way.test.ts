import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";

const read = (file: string) => readFileSync(join(projectFolder(), file), "utf8");

/** The files that a file imports, or whose names its package hands on. */
function importsOf(file: string): string[] {
  return [...read(file).matchAll(/\bfrom "([^"]+)"/g)].flatMap(([, specifier = ""]) => {
    if (specifier.startsWith(".")) return [join(dirname(file), specifier)];
    const [, name, path] = /^@herald\/([a-z-]+)(?:\/(.+))?$/.exec(specifier) ?? [];
    const source = `packages/${name}/src/${path ?? "index"}.ts`;
    if (!name || !existsSync(join(projectFolder(), source))) return [];
    return path ? [source] : [source, ...importsOf(source)];
  });
}

test("the architecture's list of files can be read downwards: each is imported by one above it", () => {
  const [, section = ""] = /## The files on the way\n(.*?)\n## /s.exec(read("docs/architecture.md")) ?? [];
  const processes = section.split(/^- \*\*/m).slice(1);
  expect(processes).toHaveLength(3);
  for (const process of processes) {
    const files = [...process.matchAll(/^ {2}- `([^`]+)`/gm)].map(([, file = ""]) => file);
    const reached = new Set(files.slice(0, 1));
    for (const file of files) {
      expect([...reached]).toContain(file);
      for (const imported of importsOf(file)) reached.add(imported);
    }
  }
});
