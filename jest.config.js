/**
 * Three tiers of tests, told apart by where a file stands:
 *
 * - unit: `src/**` beside the code. Pure rules; no build, no server.
 * - service: `test/**`. A real PostgreSQL and RabbitMQ, and the journeys through all of Herald.
 * - system: `test/system/**`. Browsers, compilers, packing, incidents, chaos, long fuzzing.
 */
const shared = {
  // Nothing else holds sources: without this, jest also crawls the data of local servers.
  roots: ["<rootDir>/packages", "<rootDir>/services", "<rootDir>/scripts"],
  watchPathIgnorePatterns: ["/dist/", "/generated/"],
  modulePathIgnorePatterns: ["<rootDir>/.*/dist/", "<rootDir>/.local/"],
  extensionsToTreatAsEsm: [".ts", ".tsx"],
  transform: {
    "^.+\\.tsx?$": [
      "@swc/jest",
      { jsc: { target: "es2022", parser: { syntax: "typescript" } }, module: { type: "es6" }, sourceMaps: "inline" },
    ],
  },
  // Tests run on the sources of every package, so that no build can be stale.
  testEnvironmentOptions: { customExportConditions: ["herald-source", "node", "node-addons"] },
};

// Start PostgreSQL and RabbitMQ for the test files that ask for them.
const servers = {
  globalSetup: "<rootDir>/packages/testkit/jest/global-setup.js",
  globalTeardown: "<rootDir>/packages/testkit/jest/global-teardown.js",
};

/** @type {import("jest").Config} */
export default {
  projects: [
    { ...shared, displayName: "unit", testMatch: ["<rootDir>/{packages,services,scripts}/*/src/**/*.test.ts"] },
    {
      ...shared,
      ...servers,
      displayName: "service",
      testMatch: ["<rootDir>/{packages,services,scripts}/*/test/**/*.test.ts"],
      testPathIgnorePatterns: ["/node_modules/", "/test/system/"],
    },
    {
      ...shared,
      ...servers,
      displayName: "system",
      testMatch: ["<rootDir>/{packages,services,scripts}/*/test/system/**/*.test.ts"],
    },
  ],
  // The second one says which rules of docs/spec.md no passed test shows.
  reporters: ["default", "<rootDir>/scripts/docs/src/spec-reporter.js"],
  // Two cores; PostgreSQL, RabbitMQ and the receivers of the tests share them.
  maxWorkers: 2,
  // A worker that has grown beyond this is replaced between two files.
  workerIdleMemoryLimit: "512MB",
  // Long enough for a machine that is ten times slower. Tests wait for conditions, so it costs nothing where all is well.
  testTimeout: 180_000,
};
