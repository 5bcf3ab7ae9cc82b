import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { names, ownerQueueOf } from "@herald/common/broker/topology";
import { projectFolder } from "@herald/dev/stack/folders";
import { afterAll, expect, test } from "@jest/globals";
import { projectFile } from "../operations/project-files.ts";

/** The rights of a user of RabbitMQ to configure, to write and to read, as regular expressions. */
interface Permission {
  user: string;
  configure: string;
  write: string;
  read: string;
}

const folder = mkdtempSync(join(tmpdir(), "herald-permissions-"));
afterAll(() => rmSync(folder, { recursive: true }));
execFileSync(process.execPath, [join(projectFolder(), "deploy/docker/make-secrets.mjs"), folder]);
const definitions = JSON.parse(readFileSync(join(folder, "rabbitmq-definitions.json"), "utf8"));
const permissions: Permission[] = definitions.permissions;

const may = (user: string, what: "configure" | "write" | "read", name: string) => {
  const permission = permissions.find((each) => each.user === user);
  return permission !== undefined && new RegExp(permission[what]).test(name);
};
test("the page about one machine gives the same rights", () => {
  const page = projectFile("docs/operating/one-vm.md");
  for (const user of ["herald", "emitter"]) {
    const { configure, write, read } = permissions.find((each) => each.user === user) as Permission;
    expect(page).toContain(`set_permissions --vhost herald ${user} '${configure}' '${write}' '${read}'`);
  }
});

const ownerQueue = ownerQueueOf("herald", "0190a1b2-0000-7000-8000-0000000000aa");
const { eventsExchange, floodsExchange, inboxExchange, eventQueues, rejectedQueue, ...rest } = names("herald");
const { noticesExchange, dispatchExchange, requestsExchange } = rest;
const all = [...new Set(Object.values(names("herald")).flat()), ownerQueue];
const events = [eventsExchange, floodsExchange, inboxExchange, ...eventQueues, rejectedQueue];
const ofDispatchers = [dispatchExchange, requestsExchange, ownerQueue];
/** Whoever may write to it may put a message into any queue. */
const DEFAULT_EXCHANGE = "amq.default";
const OF_PRODUCT = "product.notices";
const others = [OF_PRODUCT, DEFAULT_EXCHANGE, "amq.rabbitmq.reply-to", "heraldx", "amq.topic", "other.events"];

const RIGHTS: [user: string, configure: string[], write: string[], read: string[]][] = [
  ["api", [requestsExchange], [requestsExchange], []],
  [
    "publisher",
    [...events, noticesExchange, dispatchExchange],
    [...events, noticesExchange, dispatchExchange, DEFAULT_EXCHANGE],
    events,
  ],
  // To bind a queue it takes the right to write to it.
  ["dispatcher", ofDispatchers, [ownerQueue, DEFAULT_EXCHANGE], ofDispatchers],
  ["herald", all, [...all, DEFAULT_EXCHANGE], all],
  ["emitter", [], [eventsExchange], []],
  ["product", [OF_PRODUCT], [OF_PRODUCT], [OF_PRODUCT, noticesExchange]],
];

test.each(RIGHTS)("the broker user %s may configure, write to and read what it needs, and nothing else", (...row) => {
  const [user, configure, write, read] = row;
  for (const [what, expected] of Object.entries({ configure, write, read })) {
    const allowed = [...all, ...others].filter((name) => may(user, what as "read", name));
    expect([what, allowed.sort()]).toEqual([what, [...expected].sort()]);
  }
});

test("there is no other broker user than these, and the operator", () => {
  expect(permissions.map(({ user }) => user).sort()).toEqual([...RIGHTS.map(([user]) => user), "operator"].sort());
});
