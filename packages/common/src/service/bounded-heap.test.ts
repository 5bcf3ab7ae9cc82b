import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";

const folder = mkdtempSync(join(tmpdir(), "herald-heap-"));
afterAll(() => rmSync(folder, { recursive: true }));

const program = join(folder, "program.mjs");
writeFileSync(
  program,
  `import { boundHeap } from ${JSON.stringify(new URL("bounded-heap.ts", import.meta.url).href)};
boundHeap();
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

test.each([
  ["176", "88", "8"],
  ["512", "256", "16"],
])("a service's heap takes half of MEMORY_MIB (%s), however the service is started", (memory, old, semi) => {
  expect(run({ HOME: "/a b", MEMORY_MIB: memory })).toEqual({
    flags: [`--max-old-space-size=${old}`, `--max-semi-space-size=${semi}`, "--no-allocation-site-pretenuring"],
    words: ["serve", "two words"],
    home: "/a b",
    arenas: "2",
  });
});

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
