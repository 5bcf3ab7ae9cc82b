import { expect, test } from "@jest/globals";
import { forbiddenImports, LAYERS } from "./layers.ts";

test("each package may import only packages above it in the list, so that there is no circle", () => {
  const names = LAYERS.map(({ folder }) => folder.replace(/^.*\//, ""));
  for (const [index, { imports }] of LAYERS.entries()) {
    if (imports !== "any above") expect(names.slice(0, index)).toEqual(expect.arrayContaining([...imports]));
  }
});

test.each([
  ["a lower layer imports a higher one", "packages/common/src/a.ts", "@herald/dev/harness/use-broker"],
  ["a service imports another one", "services/publisher/src/a.ts", "@herald/dispatcher"],
  ["a service's test imports another service", "services/publisher/test/support/a.ts", "@herald/dispatcher"],
  ["a published package imports common", "packages/emitter/src/a.ts", "@herald/common"],
  ["product code imports what tests start", "services/publisher/src/a.ts", "@herald/dev/harness/use-broker"],
  ["a path leads into another package", "packages/common/src/runtime/a.ts", "../../../contracts/src/index.ts"],
])("it is found when %s", (_, file, target) => {
  for (const source of [
    `import { a } from "${target}";`,
    `import type { A } from "${target}";`,
    `export * from "${target}";`,
    `const a = await import("${target}");`,
    `import "${target}";`,
  ]) {
    expect(forbiddenImports(file, source)).toHaveLength(1);
  }
});

test.each([
  ["packages/common/src/a.ts", "@herald/contracts"],
  ["packages/common/src/runtime/a.ts", "../database/queries.ts"],
  ["services/publisher/test/a.test.ts", "@herald/dev/harness/use-broker"],
  ["services/publisher/src/a.test.ts", "@herald/dev/harness/steered-clock"],
  ["services/publisher/test/a.test.ts", "../src/config.ts"],
  ["packages/emitter/test/a.test.ts", "@herald/emitter/outbox"],
  ["packages/admin-ui/src/a.ts", "../../../examples/verify-go/main.go?raw"],
  ["packages/admin-ui/test/support/a.ts", "@herald/e2e/herald/start-herald"],
])("%s may import %s", (file, target) => {
  expect(forbiddenImports(file, `import { a } from "${target}";`)).toEqual([]);
});

test("a file of a package that is not in the list is found", () => {
  expect(forbiddenImports("packages/unlisted/src/a.ts", "")).toHaveLength(1);
});
