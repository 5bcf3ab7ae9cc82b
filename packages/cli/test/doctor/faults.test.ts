import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { keyMark, newSealingKeys, readSealingKey } from "@herald/common/security/sealing-keys";
import { secretBox, secretSealer } from "@herald/common/security/secret-box";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Change, inWords, only, useRightSetUp } from "./right-set-up.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-doctor-"));
const badTypes = join(folder, "types.json");
writeFileSync(badTypes, JSON.stringify({ paid: { entityType: "Invoice", emittedWhen: "an invoice is paid" } }));
const { broker, postgres, caFile, sealingKeys, settings, answerKeys, complaints, complaintsOf, onBroker } =
  useRightSetUp();
afterAll(() => rmSync(folder, { recursive: true }));

test.each<[string, string, RegExp]>([
  ["RETRY_DELAYS_SECONDS", "60,abc", /^fault, settings: RETRY_DELAYS_SECONDS must match pattern.* -> .*do not start/],
  ["MEMORY_MIB", "64", /^fault, settings: MEMORY_MIB must be >= 176/],
  ["AUTH_ISSUER", "", /^fault, settings: AUTH_ISSUER is missing/],
  ["AMQP_CA_FILE", caFile, /^fault, settings: .*AMQP_URL asks for no TLS\. Write amqps/],
  ["SECRET_KEYS_FILE", "/nowhere/keys", /^fault, settings: SECRET_KEYS_FILE names a file that can't be read/],
  ["EVENT_TYPES_FILE", "/nowhere/types.json", /^fault, settings: EVENT_TYPES_FILE: the file can't be read/],
  ["EVENT_TYPES_FILE", badTypes, /^fault, settings: EVENT_TYPES_FILE: .*: \/paid\/sample is missing/],
  ["DATABASE_URL_FILE", "/nowhere/url", /^fault, settings: DATABASE_URL_FILE names a file that can't be read/],
  ["EXTRA_CA_FILE", "/nowhere/ca.pem", /^fault, settings: EXTRA_CA_FILE names a file that can't be read/],
  ["EXTRA_CA_FILE", badTypes, /^fault, settings: EXTRA_CA_FILE: .* holds no certificate in PEM.* -> .*do not start/],
  ["EVENT_TYPES_FILE", import.meta.filename, /^fault, settings: EVENT_TYPES_FILE: .*JSON.* -> .*do not start/],
  ["PAGE_LOGO_FILE", "/nowhere/logo.svg", /^fault, settings: PAGE_LOGO_FILE names a file that is not there: .* -> .*/],
  ["ENDPOINT_CONCURENCY", "7", /^warning, settings: ENDPOINT_CONCURENCY is no setting.* -> If ENDPOINT_CONCURRENCY is/],
  ["retry_delays_seconds", "7", /^warning, settings: retry_delays_seconds is no .* -> If RETRY_DELAYS_SECONDS/],
  ["RETENTION_DAYS", "2", /^warning, settings: RETENTION_DAYS is 2, .* kept for 8 days.* -> Set RETENTION_DAYS to 8/],
  ["SECRET_KEY_FILE", "7", /^warning, settings: SECRET_KEY_FILE is no setting.* -> If SECRET_KEYS_FILE is meant/],
])("the doctor finds the setting %s=%s", async (name, value, words) => {
  const absent = /^(DATABASE_URL|SECRET_KEYS)_FILE$/.test(name) ? { [name.replace("_FILE", "")]: "" } : {};
  const others = { KUBERNETES_SERVICE_PORT: "443", HOSTNAME: "one" };
  expect(await complaintsOf("PostgreSQL", { settings: { ...absent, ...others, [name]: value } })).toEqual(only(words));
});

test("the doctor finds that a process may take more memory than this machine has", async () => {
  // 64 GiB is the most that the setting takes.
  const found = await complaintsOf("PostgreSQL", { settings: { MEMORY_MIB: "65536" } });
  const isSmall = totalmem() < 64 * 1024 ** 3;
  expect(found).toEqual(isSmall ? only(/^fault, settings: MEMORY_MIB is 65536, .* be killed.* -> .*part of the/) : []);
});

test("the doctor finds that a service lacks a setting that it needs", async () => {
  const found = await complaints({ settings: { SECRET_KEYS: "" }, args: ["--service", "dispatcher"] });
  expect(found[0]).toMatchObject({
    status: "fault",
    check: "settings",
    what: expect.stringMatching(/^SECRET_KEYS is missing/),
  });
});

test.each<[string, Change, RegExp]>([
  [
    "PostgreSQL has no TLS where DATABASE_CA_FILE asks for it",
    { settings: { DATABASE_CA_FILE: caFile } },
    /^fault, PostgreSQL: .*does not speak TLS.* -> .*DATABASE_CA_FILE has to be absent/,
  ],
  [
    "this machine's clock is an hour ahead",
    { aheadMs: 3_600_000 },
    /^warning, clocks: .*3600 s ahead of PostgreSQL's.* -> .*time server/,
  ],
  [
    "no private key opens what the management API seals",
    { settings: { SECRET_SEALING_KEY: newSealingKeys("lost").SECRET_SEALING_KEY } },
    /^fault, processes' settings: SECRET_SEALING_KEY is lost .* in this environment, and SECRET_KEYS of this environment are .* -> .*of all dispatchers/,
  ],
  [
    "nothing listens at the broker",
    { settings: { AMQP_URL: "amqp://herald:do-not-show@127.0.0.1:2" } },
    /^fault, RabbitMQ: .*Nothing listens at 127\.0\.0\.1:2.* -> .*port in AMQP_URL/,
  ],
  [
    "the key server is away",
    { settings: { AUTH_JWKS_URL: "http://127.0.0.1:2/jwks" } },
    /^fault, identity provider's keys: .*Nothing listens at 127\.0\.0\.1:2.* -> .*AUTH_JWKS_URL/,
  ],
  [
    "name servers can't be asked",
    { settings: { DNS_SERVERS: "127.0.0.1:3" } },
    /^fault, name servers: .*127\.0\.0\.1:3 \(ECONNREFUSED\).* -> .*DNS_SERVERS/,
  ],
  [
    "nothing listens at the egress proxy",
    { settings: { EGRESS_PROXY_URL: "http://user:hunter2@127.0.0.1:1" } },
    /^fault, egress proxy: .*does not answer.* -> Correct EGRESS_PROXY_URL/,
  ],
])("the doctor finds that %s", async (_name, change, words) => {
  expect(await complaintsOf("PostgreSQL", change)).toEqual(only(words));
});

test("the doctor finds that one of the name servers can't be asked, as a warning", async () => {
  const DNS_SERVERS = `${settings().DNS_SERVERS},127.0.0.1:3`;
  expect(await complaintsOf("PostgreSQL", { settings: { DNS_SERVERS } })).toEqual(only(/^warning, name servers: /));
});

test("the doctor finds another program that takes events", async () => {
  await onBroker(async (channel) => {
    await channel.consume(`${broker.namespace}.events.inbox.3`, () => undefined, { noAck: true });
    expect((await complaints()).map(inWords)).toEqual(
      only(/^fault, inbox: .*inbox\.3 has 1 consumer, and 0 publishers at work.* -> .*list_consumers/),
    );
  });
});

test("the doctor finds that the key server has no usable key", async () => {
  answerKeys('{"keys":[]}');
  const found = await complaintsOf("PostgreSQL").finally(() => answerKeys());
  expect(found).toEqual(only(/^fault, identity provider's keys: .*has no key for signatures.* -> Have the provider/));
});

describe("secrets that are stored", () => {
  beforeAll(async () => {
    const other = secretSealer(newSealingKeys("lost").SECRET_SEALING_KEY);
    const id = (number: number) => `00000000-0000-4000-8000-00000000000${number}`;
    const own = secretBox(sealingKeys.SECRET_KEYS).seal("s", id(0));
    const rows = [own, other.seal("s", id(1)), other.seal("s", id(2))].map(
      (each, at) => `('${id(at)}', 'o', 'n', 'https://r.example', true, '{}', '${each}', now(), now())`,
    );
    const columns = "id, organization_id, name, url, enabled, events, sealed_secret, created_at, updated_at";
    await postgres.run(`insert into webhook_endpoint (${columns}) values ${rows.join(", ")}`);
  });
  afterAll(() => postgres.run("delete from webhook_endpoint"));

  test("the doctor counts those that no key opens", async () => {
    const words = /^fault, key ring: .*2 of 3 secrets.*key "lost".* -> .*Put the missing key back/;
    expect(await complaintsOf("PostgreSQL")).toEqual(only(words));
  });

  test("the doctor tells one fault if it has the keys of another installation", async () => {
    const mark = keyMark(readSealingKey(sealingKeys.SECRET_SEALING_KEY));
    const facts = { dispatcher: { SECRET_KEYS: mark }, "management-api": { SECRET_SEALING_KEY: mark }, publisher: {} };
    const rows = Object.entries(facts).map(
      ([service, own]) => `(gen_random_uuid(), '${service}', 'a', '${JSON.stringify(own)}', now() + interval '1 hour')`,
    );
    await postgres.run(`insert into process (id, service, name, facts, said_at) values ${rows.join(", ")}`);
    const found = await complaintsOf("PostgreSQL", { settings: { ...newSealingKeys("other") } }).finally(() =>
      postgres.run("delete from process"),
    );
    // The dispatcher of this row owns no shard.
    expect(found.filter((each) => !each.startsWith("warning, dispatching: "))).toEqual(
      only(/^fault, processes' settings: SECRET_SEALING_KEY is .* -> .*run the doctor with the services' settings/),
    );
  });
});
