import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type KeyPair, makeAuthority } from "@herald/dev/certificates/authority";
import { certificates, type TestCertificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { serviceEnvironment } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { type Postgres, startPostgres } from "@herald/dev/stack/postgres";
import { removePostgresData } from "@herald/dev/stack/postgres-programs";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import pg from "pg";
import { serviceSettings } from "../../src/config/common-settings.ts";
import { ConfigError, readConfig } from "../../src/config/read-config.ts";
import { isDatabaseOutage } from "../../src/database/errors.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open-database.ts";
import { openProcess } from "../../src/service/open-process.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-tls-"));
const plain = useDatabase({ migrated: false });
let made: TestCertificates;
let server: Postgres;
let url: string;

beforeAll(async () => {
  made = await certificates();
  server = await startPostgres({ folder, pidFolder: join(folder, "pids"), disposable: true, tls: made.trusted });
  url = server.url;
}, STACK_TIMEOUT_MS);
beforeEach(() => present(made.trusted));
afterAll(async () => {
  await server?.stop();
  removePostgresData(folder);
});

/** Gives the server another certificate, as a person does it who renews one, or forgot to. */
async function present(certificate: KeyPair): Promise<void> {
  const admin = new pg.Client({ connectionString: url, ssl: { rejectUnauthorized: false } });
  await admin.connect();
  const { rows } = await admin.query(
    "select current_setting('ssl_cert_file') as cert, current_setting('ssl_key_file') as key",
  );
  // In place: the files keep their owner and rights.
  writeFileSync(rows[0].cert, certificate.cert);
  writeFileSync(rows[0].key, certificate.key);
  await admin.query("select pg_reload_conf()");
  await admin.end();
}

/** Why the server can't be used, or whether the connection is encrypted. */
async function outcome(url: string, ca: string): Promise<unknown> {
  const database = openDatabase(url, { ca, poolSize: 1 });
  try {
    const [row] = await database.queries.$queryRaw<{ ssl: boolean }[]>`
      select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
    return row?.ssl;
  } catch (error) {
    // A service tries again, and does not take it for a mistake in an event.
    expect(isDatabaseOutage(error)).toBe(true);
    expect(isDatabaseOutage(await database.prisma.$queryRaw`select 1`.catch((reason: unknown) => reason))).toBe(true);
    return (error as Error).message;
  } finally {
    await database.close();
  }
}

const at = (host: string) => Object.assign(new URL(url), { hostname: host }).href;

test("PostgreSQL with a certificate of the authority in the file is used over TLS, by name and by address", async () => {
  await eventually(async () => expect(await outcome(url, made.caPem)).toBe(true));
  expect(await outcome(at("localhost"), made.caPem)).toBe(true);
  expect(await outcome(`${url}?sslmode=require`, made.caPem)).toBe(true);
  await migrate(url, { ca: made.caPem });
});

test("PostgreSQL with a certificate of another authority, or for another name, is refused, with what to do", async () => {
  const other = (await makeAuthority("Another authority")).cert;
  const authority = ["PostgreSQL's certificate is from an authority that is not trusted here", "by DATABASE_CA_FILE"];
  const name = ["is for DNS:receiver.invalid, and not for localhost", "a name of the certificate into DATABASE_URL"];
  const refusals: [certificate: KeyPair, host: string, ca: string, words: string[]][] = [
    [made.trusted, "127.0.0.1", other, authority],
    [made.wrongName, "localhost", made.caPem, name],
    [made.wrongName, "127.0.0.1", made.caPem, ["and not for 127.0.0.1"]],
  ];
  for (const [certificate, host, ca, words] of refusals) {
    await present(certificate);
    await eventually(async () => {
      const found = await outcome(at(host), ca);
      for (const each of words) expect(found).toContain(each);
    });
  }
  await expect(migrate(url, { ca: other })).rejects.toThrow("name it by DATABASE_CA_FILE");
});

test("a certificate that expires while a service runs stops new connections only, in words, until it is renewed", async () => {
  const database = openDatabase(url, { ca: made.caPem, poolSize: 1 });
  try {
    await eventually(() => database.queries.$queryRaw`select 1`);
    await present(made.expired);
    // Open connections stay open.
    await database.queries.$queryRaw`select 1`;
    await eventually(async () =>
      expect(await outcome(url, made.caPem)).toContain("has expired. Renew it on the server"),
    );
    await present(made.trusted);
    await eventually(async () => expect(await outcome(url, made.caPem)).toBe(true));
    await database.queries.$queryRaw`select 1`;
  } finally {
    await database.close();
  }
});

test("PostgreSQL without TLS is refused if there is a file of authorities", async () => {
  expect(await outcome(plain.url, made.caPem)).toContain("PostgreSQL does not speak TLS at this port");
});

test("a service does not start with a file of authorities that can't be used", async () => {
  const key = join(folder, "key.pem");
  writeFileSync(key, made.trusted.key);
  const broker = { url: "amqp://127.0.0.1:1", namespace: "herald" };
  const config = readConfig(serviceSettings, serviceEnvironment("postgres://herald@127.0.0.1:1/herald", broker));
  for (const [name, file] of [
    ["DATABASE_CA_FILE", key],
    ["AMQP_CA_FILE", join(folder, "absent.pem")],
  ] as const) {
    const starting = openProcess(["publisher"], { ...config, [name]: file });
    await expect(starting).rejects.toThrow(ConfigError);
    await expect(starting).rejects.toThrow(name);
  }
});
