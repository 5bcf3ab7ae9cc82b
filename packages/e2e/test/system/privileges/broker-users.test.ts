import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { names } from "@herald/common/broker/topology";
import { projectFolder } from "@herald/testkit/stack/folders";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Permission, readPermissions } from "./permissions.ts";

let folder = "";
let permissions: Permission[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "herald-permissions-"));
  permissions = await readPermissions(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const may = (user: string, what: "configure" | "write" | "read", name: string) => {
  const permission = permissions.find((each) => each.user === user);
  return permission !== undefined && new RegExp(permission[what]).test(name);
};
test("the page about one machine gives the same rights", async () => {
  const page = await readFile(join(projectFolder(), "docs", "operating", "one-vm.md"), "utf8");
  for (const user of ["herald", "emitter"]) {
    const { configure, write, read } = permissions.find((each) => each.user === user) as Permission;
    expect(page).toContain(`set_permissions --vhost herald ${user} '${configure}' '${write}' '${read}'`);
  }
});

const all = Object.values(names("herald")).flat();

test("the broker user of Herald may use what it declares, and nothing beside it", () => {
  for (const name of all) {
    for (const what of ["configure", "write", "read"] as const) expect(may("herald", what, name)).toBe(true);
  }
  expect(may("herald", "write", "amq.default")).toBe(true);
  for (const name of ["product.notices", "heraldx", "amq.topic", "other.events"]) {
    for (const what of ["configure", "write", "read"] as const) expect(may("herald", what, name)).toBe(false);
  }
});

test("the broker user of an emitter may publish events, and nothing else", () => {
  for (const name of [...all, "amq.default", "amq.topic", "herald.events.x"]) {
    expect(may("emitter", "write", name)).toBe(name === "herald.events");
    expect(may("emitter", "read", name)).toBe(false);
    expect(may("emitter", "configure", name)).toBe(false);
  }
});

test("the broker user of the product may read notices through queues of its own, and write to none of Herald's", () => {
  for (const name of [...all, "amq.default"]) {
    expect(may("product", "configure", name)).toBe(false);
    expect(may("product", "write", name)).toBe(false);
    expect(may("product", "read", name)).toBe(name === "herald.notices");
  }
  for (const what of ["configure", "write", "read"] as const)
    expect(may("product", what, "product.notices")).toBe(true);
});
