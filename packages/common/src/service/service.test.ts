import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { MIB, memorySettings } from "../config/common-settings.ts";
import { type MachineMemory, memoryBounds } from "./memory.ts";
import { nodeFault } from "./run-service.ts";

const GIB = 1024 * MIB;
const FREE: MachineMemory = { limitBytes: undefined, totalBytes: 16 * GIB };
const LEAST_MIB = memorySettings.MEMORY_MIB.minimum;

describe("what a process may hold at once", () => {
  test.each<[string, number | undefined, MachineMemory, sameAsMib: number]>([
    ["MEMORY_MIB, where it is set", 300, FREE, 300],
    ["else the container's limit", undefined, { ...FREE, limitBytes: GIB }, 1024],
    ["else a quarter of the machine", undefined, { ...FREE, totalBytes: GIB }, 256],
    ["of a large machine 512 MiB", undefined, FREE, 512],
  ])("follows from %s", (_what, MEMORY_MIB, machine, sameAsMib) => {
    expect(memoryBounds({ MEMORY_MIB }, machine)).toEqual(memoryBounds({ MEMORY_MIB: sameAsMib }, FREE));
  });

  test.each([LEAST_MIB, 512, memorySettings.MEMORY_MIB.maximum])("fits into %d MiB, and all of it can work", (mib) => {
    const bounds = memoryBounds({ MEMORY_MIB: mib }, FREE);
    const { inboxBytes, bodiesBytes, inFlight, clients } = bounds;
    expect(inboxBytes + bodiesBytes + inFlight * 75_000 + clients * 10_000).toBeLessThan((mib - 128) * MIB);
    expect(Math.min(...Object.values(bounds))).toBeGreaterThanOrEqual(50);
    expect(inboxBytes).toBeGreaterThanOrEqual(16 * MIB);
  });

  test.each<[string, number | undefined, MachineMemory, RegExp]>([
    ["MEMORY_MIB above the limit", 1024, { ...FREE, limitBytes: 512 * MIB }, /MEMORY_MIB is 1024.* may have 512 MiB/],
    ["a limit that is too low", undefined, { ...FREE, limitBytes: 100 * MIB }, /may have 100 MiB: give .* 176 MiB/],
    ["a machine that is too small", undefined, { ...FREE, totalBytes: 400 * MIB }, /this machine's memory is 100 MiB/],
  ])("%s is refused with what to do", (_what, MEMORY_MIB, machine, words) => {
    expect(() => memoryBounds({ MEMORY_MIB }, machine)).toThrow(words);
  });
});

const folder = mkdtempSync(join(tmpdir(), "herald-heap-"));
afterAll(() => rmSync(folder, { recursive: true }));

const program = join(folder, "program.mjs");
writeFileSync(
  program,
  `import { boundHeap } from ${JSON.stringify(new URL("memory.ts", import.meta.url).href)};
boundHeap(process.env.SERVICE);
console.log(JSON.stringify({ flags: process.execArgv, words: process.argv.slice(2), home: process.env.HOME, arenas: process.env.MALLOC_ARENA_MAX }));`,
);

/** What the program says of itself, once it goes on. */
function run(environment: Record<string, string>, flags: string[] = []) {
  const output = execFileSync(
    process.execPath,
    ["--conditions=herald-source", ...flags, program, "serve", "two words"],
    {
      env: environment,
      encoding: "utf8",
    },
  );
  const { flags: all, ...rest } = JSON.parse(output) as {
    flags: string[];
    words: string[];
    home: string;
    arenas?: string;
  };
  return { ...rest, flags: all.filter((flag) => !flag.startsWith("--conditions")) };
}

test.each<[memory: string, old: string, semi: string, environment: Record<string, string>, ...others: string[]]>([
  ["176", "88", "8", {}],
  ["512", "256", "16", {}, "--heap-growing-percent=100"],
  ["176", "58", "8", { SERVICE: "publisher" }],
])(
  "a service's heap takes its part of MEMORY_MIB (%s), however the service is started",
  (memory, old, semi, part, ...others) => {
    expect(run({ HOME: "/a b", MEMORY_MIB: memory, ...part })).toEqual({
      flags: [
        `--max-old-space-size=${old}`,
        `--max-semi-space-size=${semi}`,
        "--no-allocation-site-pretenuring",
        ...others,
      ],
      words: ["serve", "two words"],
      home: "/a b",
      arenas: "2",
    });
  },
);

test("what the environment says of the allocator stays", () => {
  expect(run({ MALLOC_ARENA_MAX: "4" })).toMatchObject({ arenas: "4" });
});

test.each<[string, Record<string, string>, string[]]>([
  ["Node's arguments bound it", {}, ["--max-old-space-size=300"]],
  ["NODE_OPTIONS bounds it", { NODE_OPTIONS: "--max-old-space-size=300" }, []],
  ["the settings are wrong, which the service reports", { MEMORY_MIB: "much" }, []],
])("its heap stays as it is where %s", (_why, environment, flags) => {
  expect(run(environment, flags).flags).toEqual(flags);
});

test("what a start took for new objects is given back", () => {
  const measured = `import { collectAfterStart } from ${JSON.stringify(new URL("memory.ts", import.meta.url).href)};
    import { getHeapSpaceStatistics } from "node:v8";
    const mibForNew = () => getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space").physical_space_size / 2 ** 20;
    const kept = Array.from({ length: 400_000 }, (_, index) => ({ index }));
    const before = mibForNew();
    collectAfterStart();
    console.log(JSON.stringify([kept.length, before, mibForNew()]));`;
  const flags = ["--conditions=herald-source", "--input-type=module", "--max-semi-space-size=16"];
  const output = execFileSync(process.execPath, [...flags, "--eval", measured], { encoding: "utf8" });
  const [kept, before, after] = JSON.parse(output) as [number, number, number];
  expect(kept).toBe(400_000);
  expect(before).toBeGreaterThan(8);
  expect(after).toBeLessThan(2);
});

const engines = (service: string): string =>
  JSON.parse(readFileSync(new URL(`../../../../services/${service}/package.json`, import.meta.url), "utf8")).engines
    .node;

test.each([
  ["20.20.2", "This is Node 20.20.2: install 22.15 or later."],
  ["22.9.0", "This is Node 22.9.0: install 22.15 or later."],
  ["22.15.0", null],
  ["24.0.0", null],
  ["100.1.0", null],
])("a service that is started on Node %s says %j", (version, fault) => {
  expect(nodeFault(version)).toBe(fault);
});

test.each(["publisher", "dispatcher", "management-api"])("%s asks for the same Node as its start", (service) => {
  const least = engines(service).replace(">=", "");
  expect([nodeFault(`${least}.0`), nodeFault("22.14.9")]).toEqual([null, expect.stringContaining(least)]);
});
