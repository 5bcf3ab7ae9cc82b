import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { ConfigError, readConfig } from "./read-config.ts";
import type { Settings } from "./settings.ts";
import { type SettingValues, unsafeSettings } from "./unsafe-settings.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

const settings = {
  URL: { type: "string", required: true, secret: true, pattern: "^postgres:", description: "Where the data is." },
  PORT: { type: "integer", default: 80, minimum: 0, maximum: 65535, description: "Where to listen." },
  LEVEL: { type: "string", default: "info", enum: ["info", "warn"], description: "What to log." },
  VERBOSE: { type: "boolean", default: false, description: "Whether to say more." },
} as const satisfies Settings;

function problemsOf(environment: Record<string, string>, read: Settings = settings): readonly string[] {
  try {
    readConfig(read, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

test("settings are read as their types, and absent ones get their defaults", () => {
  expect(readConfig(settings, { URL: "postgres://a", PORT: "8080", VERBOSE: "true", UNKNOWN: "1" })).toEqual({
    URL: "postgres://a",
    PORT: 8080,
    LEVEL: "info",
    VERBOSE: true,
  });
});

test("an empty variable counts as absent", () => {
  expect(readConfig(settings, { URL: "postgres://a", PORT: "" }).PORT).toBe(80);
});

test("an error lists every problem at once, each with the purpose of its setting", () => {
  const problems = problemsOf({ PORT: "eighty", LEVEL: "loud" });
  expect(problems).toHaveLength(3);
  expect(problems.join("\n")).toContain("URL is missing: Where the data is.");
  expect(problems.join("\n")).toContain('PORT must be integer, but is "eighty"');
  expect(problems.join("\n")).toContain("LEVEL must be one of info, warn");
});

test("an error never repeats a secret", () => {
  const problems = problemsOf({ URL: "mysql://root:hunter2@db" });
  expect(problems).toHaveLength(1);
  expect(problems[0]).not.toContain("hunter2");
});

test("a secret is read from the file that is named", () => {
  writeFileSync(join(folder, "url"), "postgres://from-file\n");
  expect(readConfig(settings, { URL_FILE: join(folder, "url") }).URL).toBe("postgres://from-file");
  expect(problemsOf({ URL_FILE: join(folder, "absent") })[0]).toContain("URL_FILE names a file that can't be read");
});

test("what is made together with a secret is read from a file too, and no other setting is", () => {
  const read = {
    PUBLIC_KEY: { type: "string", fromFile: true, description: "What to seal with." },
    NAME: { type: "string", description: "How it is called." },
  } as const satisfies Settings;
  const file = join(folder, "public-key");
  writeFileSync(file, "key\n");
  expect(readConfig(read, { PUBLIC_KEY_FILE: file, NAME_FILE: file })).toEqual({ PUBLIC_KEY: "key" });
});

test("what is not safe is refused unless the environment is development, beside all other problems", () => {
  const judged = {
    ...settings,
    PUBLIC_ORIGIN: { type: "string", description: "Where browsers see the page." },
  } as const satisfies Settings;
  const environment = { URL: "postgres://a", PORT: "eighty", PUBLIC_ORIGIN: "http://herald.example.com" };
  const problems = (more: Record<string, string> = {}) => problemsOf({ ...environment, ...more }, judged);
  expect(problems()).toEqual([
    expect.stringContaining("PORT must be integer"),
    expect.stringContaining("PUBLIC_ORIGIN is not safe"),
  ]);
  expect(problems({ HERALD_ENV: "production" })).toHaveLength(2);
  expect(problems({ HERALD_ENV: "development" })).toHaveLength(1);
  expect(problems({ HERALD_ENV: "staging" })).toContainEqual(
    expect.stringContaining("HERALD_ENV must be one of production, development"),
  );
});

test("a fault of several settings together is reported if each is right by itself", () => {
  const together = ({ PORT }: { PORT: number }) => (PORT === 81 ? ["PORT is taken"] : []);
  expect(() => readConfig(settings, { URL: "postgres://a", PORT: "81" }, together)).toThrow("PORT is taken");
  expect(() => readConfig(settings, { URL: "postgres://a", PORT: "82" }, together)).not.toThrow();
});

/** 32 different bytes. */
const RANDOM = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7 + 1));
/** PKCS#8 has this before an X25519 private key. */
const PREFIX = Buffer.from("302e020100300506032b656e04220420", "hex");
const key = (id: string, bytes: Buffer = RANDOM) => `${id}:${Buffer.concat([PREFIX, bytes]).toString("base64")}`;

/** A setting's value, what stands beside it, and what is said of it. */
type Row = readonly [string, string | boolean, SettingValues, RegExp];

const REFUSED: readonly Row[] = [
  ["DATABASE_URL", "postgres://postgres:postgres@localhost/herald", {}, /password is the user's name/],
  ["DATABASE_URL", "postgres://herald:x@db.example.com/herald", {}, /sslmode=verify-full .* DATABASE_CA_FILE/],
  ["DATABASE_URL", "postgres://herald:x@10.0.0.7/herald?sslmode=disable", {}, /read and changed on the way/],
  ["DATABASE_URL", "postgres://herald:x@10.0.0.7/herald?sslmode=no-verify", {}, /read and changed on the way/],
  ["DATABASE_URL", "postgres://herald:x@localhost/herald?host=10.0.0.7", {}, /read and changed on the way/],
  ["DATABASE_URL", "postgres://herald:x@db/herald", { ALLOW_PLAINTEXT: "amqp" }, /ALLOW_PLAINTEXT=postgres/],
  // pg reads these as no check of the certificate, the last sslmode, and no TLS.
  ["DATABASE_URL", "postgres://herald:x@db/h?sslmode=require&uselibpqcompat=true", {}, /read and changed on the way/],
  ["DATABASE_URL", "postgres://herald:x@db/h?sslmode=prefer&uselibpqcompat=true", {}, /read and changed on the way/],
  ["DATABASE_URL", "postgres://herald:x@db/h?sslmode=verify-full&sslmode=disable", {}, /read and changed on the way/],
  ["DATABASE_URL", "postgres://herald:x@db/h?ssl=false", {}, /read and changed on the way/],
  ["DATABASE_URL", "postgres://herald:x@db/h?ssl=no-verify", {}, /read and changed on the way/],
  ["DATABASE_URL", "postgres://postgres:password@db/h?sslmode=verify-full", {}, /everybody tries first/],
  ["DATABASE_URL", "postgres://db/h?user=postgres&password=Postgres123&sslmode=verify-full", {}, /everybody tries/],
  ["OUTBOX_DATABASE_URL", "postgres://product:product@localhost/product", {}, /password is the user's name/],
  ["OUTBOX_DATABASE_URL", "postgres://product:x@db/product", { DATABASE_CA_FILE: "/ca" }, /sslmode=verify-full/],
  ["AMQP_URL", "amqps://guest:guest@mq.example.com", {}, /password is the user's name/],
  ["AMQP_URL", "amqps://herald:changeme@mq.example.com", {}, /everybody tries first/],
  ["AMQP_URL", "amqp://localhost", {}, /password is the user's name/],
  ["AMQP_URL", "amqp://herald:x@mq.example.com", {}, /amqps:\/\/, or ALLOW_PLAINTEXT=amqp/],
  ["AMQP_URL", "amqp://herald:x@mq", { ALLOW_PLAINTEXT: "postgres" }, /ALLOW_PLAINTEXT=amqp/],
  ["AMQP_URL", "amqp://herald:x@127.0.0.1.example.com", {}, /read and changed on the way/],
  ["EGRESS_PROXY_URL", "http://herald:herald@127.0.0.1:3128", {}, /password is the user's name/],
  ["EGRESS_PROXY_URL", "http://herald:changeme@localhost:3128", {}, /everybody tries first/],
  ["EGRESS_PROXY_URL", "http://herald:x@proxy.internal:3128", {}, /read .* ALLOW_PLAINTEXT=proxy/],
  ["EGRESS_PROXY_URL", "http://:x@10.0.0.7:3128", { ALLOW_PLAINTEXT: "amqp,postgres" }, /ALLOW_PLAINTEXT=proxy/],
  ["SECRET_KEYS", key("k1", Buffer.alloc(32)), {}, /not random: k1\./],
  ["SECRET_KEYS", `${key("new")},${key("old", Buffer.alloc(32, "secret"))}`, {}, /not random: old\./],
  ["AUTH_JWT_SECRET", "a".repeat(64), {}, /short, or not random/],
  ["AUTH_JWT_SECRET", "0123456789abcdef0123456789abcdef", {}, /short, or not random/],
  ["AUTH_JWKS_URL", "http://login.example.com/jwks", {}, /sign tokens for every organization/],
  ["AUTH_JWKS_URL", "http://localhost.example.com/jwks", {}, /sign tokens for every organization/],
  ["AUTH_JWKS_URL", "http://127.0.0.1.example.com/jwks", {}, /sign tokens for every organization/],
  ["AUTH_JWKS_URL", "http://10.0.0.7/jwks", {}, /sign tokens for every organization/],
  ["AUTH_JWKS_URL", "http://", {}, /sign tokens for every organization/],
  ["PUBLIC_ORIGIN", "http://herald.example.com", {}, /Put TLS in front/],
];

const TAKEN: readonly (readonly [string, string | boolean, SettingValues])[] = [
  ["DATABASE_URL", "postgres://herald:x@127.0.0.1:5432/herald", {}],
  ["DATABASE_URL", "postgres://herald@[::1]/herald", {}],
  ["DATABASE_URL", "postgres://herald:x@%2Fvar%2Frun%2Fpostgresql/herald", {}],
  ["DATABASE_URL", "postgres://herald:x@db.example.com/herald?sslmode=verify-full", {}],
  ["DATABASE_URL", "postgres://herald:x@db.example.com/herald?sslmode=disable&sslmode=require", {}],
  ["DATABASE_URL", "postgres://herald:x@db.example.com/herald?ssl=true", {}],
  ["DATABASE_URL", "postgres://herald:x@db.example.com/herald?host=127.0.0.1", {}],
  ["DATABASE_URL", "postgres://herald:x@db.example.com/herald", { DATABASE_CA_FILE: "/ca.pem" }],
  ["DATABASE_URL", "postgres://herald:x@db/herald", { ALLOW_PLAINTEXT: "amqp,postgres" }],
  ["AMQP_URL", "amqps://herald:x@mq.example.com", {}],
  ["AMQP_URL", "amqp://herald:x@localhost", {}],
  ["AMQP_URL", "amqp://herald:x@mq", { ALLOW_PLAINTEXT: "amqp" }],
  ["EGRESS_PROXY_URL", "http://proxy.internal:3128", {}],
  ["EGRESS_PROXY_URL", "http://herald:x@127.0.0.1:3128", {}],
  ["EGRESS_PROXY_URL", "http://herald:x@proxy.internal:3128", { ALLOW_PLAINTEXT: "amqp,proxy" }],
  ["SECRET_KEYS", `${key("new")},${key("old")}`, {}],
  ["SECRET_KEYS", "k1:of-too-few-bytes", {}],
  ["AUTH_JWT_SECRET", RANDOM.toString("base64"), {}],
  ["AUTH_JWT_SECRET", RANDOM.toString("hex"), {}],
  ["AUTH_JWKS_URL", "https://login.example.com/jwks", {}],
  ["AUTH_JWKS_URL", "http://127.0.0.1:8080/jwks", {}],
  ["AUTH_JWKS_URL", "http://[::1]/jwks", {}],
  ["AUTH_JWKS_URL", "http://localhost/jwks", {}],
  ["PUBLIC_ORIGIN", "https://herald.example.com", {}],
  ["PUBLIC_ORIGIN", "http://localhost:8080", {}],
];

test.each(REFUSED)("%s=%s beside %j is not safe", (name, value, beside, words) => {
  const problems = unsafeSettings({ ...beside, [name]: value });
  expect(problems).toEqual([expect.stringMatching(words)]);
  expect(problems[0]).toMatch(new RegExp(`^${name} is not safe with HERALD_ENV=production: `));
});

test.each(TAKEN)("%s=%s beside %j is safe", (name, value, beside) => {
  expect(unsafeSettings({ ...beside, [name]: value })).toEqual([]);
});

test("all faults are listed at once, also two of one setting", () => {
  const problems = unsafeSettings({ AMQP_URL: "amqp://guest:guest@mq", PUBLIC_ORIGIN: "http://herald.example.com" });
  expect(problems.map((problem) => problem.split(" ")[0])).toEqual(["AMQP_URL", "AMQP_URL", "PUBLIC_ORIGIN"]);
});

test("no fault shows a secret", () => {
  const secrets = {
    DATABASE_URL: "postgres://hunter2:hunter2@db/herald",
    AMQP_URL: "amqp://hunter2:hunter2@mq",
    SECRET_KEYS: key("k1", Buffer.alloc(32, "hunter2")),
    AUTH_JWT_SECRET: "hunter2".repeat(5),
  };
  const problems = unsafeSettings(secrets).join("\n");
  for (const name of Object.keys(secrets)) expect(problems).toContain(name);
  expect(problems).not.toContain("hunter2");
  expect(problems).not.toContain(secrets.SECRET_KEYS.slice(3));
});
