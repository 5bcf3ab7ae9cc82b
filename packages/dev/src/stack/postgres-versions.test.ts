import { expect, test } from "@jest/globals";
import { apartByVersion, postgresVersion } from "./postgres-versions.ts";

test("PostgreSQL 18 is the default, and POSTGRES_VERSION asks for another one", () => {
  expect(postgresVersion({})).toBe("18");
  expect(postgresVersion({ POSTGRES_VERSION: "" })).toBe("18");
  for (const version of ["15", "16", "17", "18"]) {
    expect(postgresVersion({ POSTGRES_VERSION: version })).toBe(version);
  }
});

test("a version that Herald does not run on is refused, with those that it runs on", () => {
  for (const version of ["14", "19", "15.4", "latest", "toString"]) {
    expect(() => postgresVersion({ POSTGRES_VERSION: version })).toThrow(/It can be one of 15, 16, 17, 18; without it/);
  }
});

test("what servers of two versions must not share has two names", () => {
  expect(apartByVersion("postgres", "18")).toBe("postgres");
  expect(apartByVersion("postgres", "15")).toBe("postgres-15");
});
