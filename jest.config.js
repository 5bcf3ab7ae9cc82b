/**
 * Four tiers of tests, told apart by where a file stands:
 *
 * - unit: `src/**` beside the code. Pure rules; no build, no server.
 * - service: `test/**`. A real PostgreSQL and RabbitMQ, and the journeys through all of Herald.
 * - quick: `test/quick/**`. A browser, packing, a short chaos run: the dearest of what every change has to pass.
 * - nightly: `test/nightly/**`. Compilers, downloads, incidents, long runs.
 */
const swc = (parser) => ({
  jsc: { target: "es2022", parser, transform: { react: { runtime: "automatic" } } },
  module: { type: "es6" },
  sourceMaps: "inline",
});

const shared = {
  // Nothing else holds sources: without this, jest also crawls the data of local servers.
  roots: ["<rootDir>/packages", "<rootDir>/services", "<rootDir>/scripts"],
  watchPathIgnorePatterns: ["/dist/", "/generated/"],
  modulePathIgnorePatterns: ["<rootDir>/.*/dist/", "<rootDir>/.local/"],
  extensionsToTreatAsEsm: [".ts", ".tsx"],
  transform: {
    "\\.ts$": ["@swc/jest", swc({ syntax: "typescript" })],
    "\\.tsx$": ["@swc/jest", swc({ syntax: "typescript", tsx: true })],
  },
  // A component's styles are of no interest to a test of its words.
  moduleNameMapper: { "\\.css$": "<rootDir>/packages/dev/jest/no-styles.js" },
  // Tests run on the sources of every package, so that no build can be stale.
  testEnvironmentOptions: { customExportConditions: ["herald-source", "node", "node-addons"] },
};

// Start PostgreSQL and RabbitMQ for the test files that ask for them.
const servers = {
  globalSetup: "<rootDir>/packages/dev/jest/global-setup.js",
  globalTeardown: "<rootDir>/packages/dev/jest/global-teardown.js",
};

/** @type {import("jest").Config} */
export default {
  projects: [
    { ...shared, displayName: "unit", testMatch: ["<rootDir>/{packages,services,scripts}/*/src/**/*.test.{ts,tsx}"] },
    {
      ...shared,
      ...servers,
      displayName: "service",
      testMatch: ["<rootDir>/{packages,services,scripts}/*/test/**/*.test.ts"],
      testPathIgnorePatterns: ["/node_modules/", "/test/(quick|nightly)/"],
    },
    ...["quick", "nightly"].map((tier) => ({
      ...shared,
      ...servers,
      displayName: tier,
      testMatch: [`<rootDir>/{packages,services,scripts}/*/test/${tier}/**/*.test.ts`],
    })),
  ],
  // The second one says which rules of docs/spec.md no passed test shows.
  reporters: ["default", "<rootDir>/scripts/docs/src/spec-reporter.js"],
  // Two cores. Tests wait more than they compute, so that a third worker fills them.
  maxWorkers: 3,
  // A worker that has grown beyond this is replaced between two files.
  workerIdleMemoryLimit: "512MB",
  // Long enough for a machine that is ten times slower. Tests wait for conditions, so it costs nothing where all is well.
  testTimeout: 180_000,
};
