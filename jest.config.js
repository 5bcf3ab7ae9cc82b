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
  // Two cores; PostgreSQL, RabbitMQ and the receivers of the tests share them.
  maxWorkers: 2,
  testTimeout: 30_000,
};
