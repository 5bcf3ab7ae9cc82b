import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { callHerald } from "./run-herald.ts";

const ROLE = "herald_test_100%er";
const quoted = `"${ROLE}"`;
const LIST = ["endpoints", "list", "--disabled-since", "2026-01-31T12:00:00Z"];
const run = (sql: string) => db.database.prisma.$executeRawUnsafe(sql);
// Ahead of the hook that removes the database.
afterAll(async () => {
  await run(`drop owned by ${quoted}`);
  await run(`drop role ${quoted}`);
});
const db = useDatabase();
const broker = useBroker();
beforeAll(async () => {
  await run(`create role ${quoted} login password 'a b%c'`);
  await run(`grant select on all tables in schema public to ${quoted}`);
});

/** Changes a URL that is right. */
type Change = (url: string) => string;
const query =
  (text: string): Change =>
  (url) =>
    `${url}?${text}`;
const host =
  (text: string): Change =>
  (url) =>
    url.replace(/@[^/]+/, `@${text}`);

test.each<[string, Change, RegExp | "works"]>([
  ["postgresql://", (url) => url.replace(/^postgres(ql)?:/, "postgresql:"), "works"],
  ["a bare % and a blank in user and password", (url) => url.replace(/\/\/[^@]*/, `//${ROLE}:a b%c`), "works"],
  ["parameters of libpq", query("channel_binding=prefer&connect_timeout=3&target_session_attrs=any"), "works"],
  ["options", query("options=-csearch_path%3Dpublic&application_name=a%20b"), "works"],
  ["the schema public", query("schema=public"), "works"],
  ["quotation marks", (url) => `"${url}"`, /^DATABASE_URL is in quotation marks/],
  ["words of libpq", () => "host=localhost dbname=herald", /^DATABASE_URL must be of the form postgres:\/\//],
  ["a port that is none", host("127.0.0.1:99999"), /^DATABASE_URL must be of the form/],
  ["several hosts", host("one:5432,two:5433"), /^DATABASE_URL names several hosts, .* follows the primary/],
  ["several hosts in a parameter", query("host=one,two"), /^DATABASE_URL names several hosts/],
  ["sslmode=prefer", query("sslmode=prefer"), /^DATABASE_URL says sslmode=prefer, .* Write verify-full, or disable/],
  ["sslmode=allow", query("sslmode=allow"), /^DATABASE_URL says sslmode=allow/],
  ["an unknown sslmode", query("sslmode=verify"), /^DATABASE_URL has an unknown sslmode\. It can be disable,/],
  ["an unknown parameter", query("pool_size=4"), /^DATABASE_URL has the parameter pool_size, .* Correct or remove it/],
  ["another schema", query("schema=hooks"), /^DATABASE_URL asks for another schema/],
])("a DATABASE_URL with %s works as with libpq, or is refused in words", async (_name, change, expected) => {
  const { code, stdout, stderr } = await callHerald(LIST, { DATABASE_URL: change(db.url) });
  if (expected === "works") return expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout + stderr).not.toMatch(/herald:|\n +at /);
  expect(stderr.replace(/^.*\n {2}- /, "")).toMatch(expected);
  expect(code).not.toBe(0);
});

test.each<[string, Change, RegExp]>([
  ["a bare % in the user", (url) => url.replace(/\/\/[^@]*/, "//us%er:do-not-show"), /refuses this user/],
  [
    "a byte that is no text in the user",
    (url) => url.replace(/\/\/[^@]*/, "//us%FFer:do-not-show"),
    /refuses this user/,
  ],
  [
    "a bare % in the virtual host",
    (url) => url.replace(/(:\d+)(\/.*)?$/, "$1/nothere%"),
    /refuses the virtual host nothere%:/,
  ],
  ["several hosts", host("one,two:5672"), /name of RabbitMQ's host, one,two:5672, is not known/],
  ["quotation marks", (url) => `"${url}"`, /AMQP_URL: .* must be of the form amqp.* without quotation marks/],
])("an AMQP_URL with %s is refused in words", async (_name, change, expected) => {
  const { stdout, stderr } = await callHerald(["doctor"], { DATABASE_URL: db.url, AMQP_URL: change(broker.url) });
  expect(stdout + stderr).not.toMatch(/do-not-show|URIError|\n +at /);
  expect(stdout).toMatch(expected);
});
