import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { names, ownerQueueOf } from "@herald/common/broker/topology";
import { projectFolder } from "@herald/dev/stack/folders";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Permission, readPermissions } from "../../support/permissions.ts";

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

const ownerQueue = ownerQueueOf("herald", "0190a1b2-0000-7000-8000-0000000000aa");
const all = [...new Set(Object.values(names("herald")).flat()), ownerQueue];
const { eventsExchange, floodsExchange, inboxExchange, eventQueues, rejectedQueue, noticesExchange, ...toDispatchers } =
  names("herald");
const { dispatchExchange, requestsExchange } = toDispatchers;
/** Whoever may write to it may put a message into any queue. */
const DEFAULT_EXCHANGE = "amq.default";
const others = ["product.notices", "heraldx", "amq.topic", "other.events"];

test("the broker user of all services together may use what they declare, and nothing beside it", () => {
  for (const name of all) {
    for (const what of ["configure", "write", "read"] as const) expect(may("herald", what, name)).toBe(true);
  }
  expect(may("herald", "write", DEFAULT_EXCHANGE)).toBe(true);
  for (const name of others) {
    for (const what of ["configure", "write", "read"] as const) expect(may("herald", what, name)).toBe(false);
  }
});

test("what dispatchers obey only the broker users of its senders may write: hand-overs publishers, requests the management API", () => {
  const writers = (name: string) =>
    permissions.flatMap(({ user }) => (user !== "operator" && may(user, "write", name) ? [user] : [])).sort();
  expect(writers(dispatchExchange)).toEqual(["herald", "publisher"]);
  expect(writers(requestsExchange)).toEqual(["api", "herald"]);
  expect(writers(DEFAULT_EXCHANGE)).toEqual(["dispatcher", "herald", "publisher"]);
});

test("the broker user of the management API may ask dispatchers and hear their replies, and nothing else", () => {
  for (const name of [...all, ...others, DEFAULT_EXCHANGE]) {
    expect(may("api", "write", name)).toBe(name === requestsExchange);
    expect(may("api", "configure", name)).toBe(name === requestsExchange);
    expect(may("api", "read", name)).toBe(false);
  }
  expect(may("api", "read", "amq.rabbitmq.reply-to")).toBe(true);
});

test("the broker user of publishers reads events, and that of dispatchers makes, binds and reads queues of their own", () => {
  // To bind a queue it takes the right to write to it.
  for (const what of ["configure", "write", "read"] as const) expect(may("dispatcher", what, ownerQueue)).toBe(true);

  const events = [eventsExchange, floodsExchange, inboxExchange, ...eventQueues, rejectedQueue];
  for (const name of [...all, ...others]) {
    expect([name, may("publisher", "read", name)]).toEqual([name, events.includes(name)]);
    const isOfDispatchers = !events.includes(name) && name !== noticesExchange && all.includes(name);
    expect([name, may("dispatcher", "read", name)]).toEqual([name, isOfDispatchers]);
  }
});

test("the broker user of an emitter may publish events, and nothing else", () => {
  for (const name of [...all, DEFAULT_EXCHANGE, "amq.topic", "herald.events.x"]) {
    expect(may("emitter", "write", name)).toBe(name === "herald.events");
    expect(may("emitter", "read", name)).toBe(false);
    expect(may("emitter", "configure", name)).toBe(false);
  }
});

test("the broker user of the product may read notices through queues of its own, and write to none of Herald's", () => {
  for (const name of [...all, DEFAULT_EXCHANGE]) {
    expect(may("product", "configure", name)).toBe(false);
    expect(may("product", "write", name)).toBe(false);
    expect(may("product", "read", name)).toBe(name === "herald.notices");
  }
  for (const what of ["configure", "write", "read"] as const)
    expect(may("product", what, "product.notices")).toBe(true);
});
