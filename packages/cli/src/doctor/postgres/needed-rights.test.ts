import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { NEEDED_RIGHTS, nameOf, rightsOf, type ServiceName } from "./needed-rights.ts";

const ROLES: Record<ServiceName, string> = {
  "management-api": "herald_api",
  publisher: "herald_publisher",
  dispatcher: "herald_dispatcher",
};

test("grants are taken apart into single rights, each once", () => {
  const grants = ["select, update (a, b) on t, u", "execute on function f(uuid, date), g()", "select on t"];
  expect(rightsOf(grants).map(nameOf)).toEqual([
    "select on t",
    "select on u",
    "update (a) on t",
    "update (b) on t",
    "update (a) on u",
    "update (b) on u",
    "execute on function f(uuid, date)",
    "execute on function g()",
  ]);
});

test.each(Object.entries(ROLES))("the rights of %s are those that service-roles.sql grants to %s", (service, role) => {
  const file = join(import.meta.dirname, "../../../../../deploy/postgres/service-roles.sql");
  const statements = readFileSync(file, "utf8")
    .replace(/^--.*$/gm, "")
    .replaceAll(/\s+/g, " ")
    .split(";");
  const granted = statements.flatMap((statement) => {
    const [, grant = "", roles = ""] = /^ ?grant (.* on .*) to (.*)$/.exec(statement) ?? [];
    return roles.split(", ").includes(role) && !grant.startsWith("usage") ? [grant] : [];
  });
  const names = (grants: readonly string[]) => rightsOf(grants).map(nameOf).sort();
  expect(names(NEEDED_RIGHTS[service as ServiceName])).toEqual(names(granted));
});
