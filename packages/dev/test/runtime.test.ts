import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { projectFolder } from "../src/stack/folders.ts";

const read = (file: string) => readFileSync(join(projectFolder(), file), "utf8");

/** The version of Node that the catalog pins for a system. */
function pinned(system: string): string | undefined {
  return new RegExp(`^  node-(?:bin-)?${system}: (\\S+)$`, "m").exec(read("pnpm-workspace.yaml"))?.[1];
}

test("scripts and tests run on the Node that the packages bring, whatever the machine has", () => {
  expect(process.versions.node).toBe(pinned(`${process.platform}-${process.arch}`));
});

test("the image has, and pnpm checks for, the Node that scripts and tests run on", () => {
  const images = [...read("deploy/docker/Dockerfile").matchAll(/^FROM node:([\d.]+)-/gm)].map(([, version]) => version);
  expect(images).toEqual([pinned("linux-x64"), pinned("linux-x64")]);
  expect(pinned("linux-arm64")).toBe(pinned("linux-x64"));
  expect(read("pnpm-workspace.yaml")).toContain(`\nnodeVersion: ${pinned("linux-x64")}\n`);
});
