/** @type {import("jest").Config} */
export default {
  testMatch: ["<rootDir>/{packages,services}/*/{src,test}/**/*.test.ts"],
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
  // Brings up PostgreSQL and RabbitMQ for the files that ask for them. Jest loads these two as plain modules, without its
  // transform, so they are the built ones.
  globalSetup: "<rootDir>/packages/testkit/dist/harness/global-setup.js",
  globalTeardown: "<rootDir>/packages/testkit/dist/harness/global-teardown.js",
  // Two cores; PostgreSQL, RabbitMQ and the receivers of the tests share them.
  maxWorkers: 2,
  // Generous, for machines that do other things too: waiting is for conditions, so it costs nothing where all is well.
  testTimeout: 60_000,
};
