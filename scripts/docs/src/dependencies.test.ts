import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { parse } from "yaml";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

const { catalog } = parse(read("pnpm-workspace.yaml")) as { catalog: Record<string, string> };
const lockFile = parse(read("pnpm-lock.yaml")) as { packages: Record<string, { resolution: { integrity?: string } }> };
const workspaces = ["packages", "services", "scripts"].flatMap((group) =>
  readdirSync(join(ROOT, group)).map((name) => `${group}/${name}/package.json`),
);

test("the catalog names every dependency's exact version", () => {
  for (const [name, version] of Object.entries(catalog))
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(-[\w.]+)?$/)]);
});

test.each(["package.json", ...workspaces])(
  "%s takes its dependencies from the catalog and the workspace only",
  (file) => {
    const { dependencies, devDependencies } = JSON.parse(read(file)) as Record<
      string,
      Record<string, string> | undefined
    >;
    const versions = Object.values({ ...dependencies, ...devDependencies });
    expect(versions.filter((version) => version !== "catalog:" && !version.startsWith("workspace:"))).toEqual([]);
  },
);

test("the lock file has a checksum of each package, and the address of no registry", () => {
  const packages = Object.entries(lockFile.packages);
  expect(packages.length).toBeGreaterThan(100);
  expect(packages.filter(([, { resolution }]) => !resolution.integrity)).toEqual([]);
  expect(read("pnpm-lock.yaml")).not.toMatch(/https?:\/\/[^\s'"]*\.tgz/);
});
