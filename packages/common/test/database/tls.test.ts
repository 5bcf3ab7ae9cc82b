import { randomUUID } from "node:crypto";
import { chownSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CertificateAuthority, type KeyPair, makeAuthority } from "@herald/dev/certificates/authority";
import { certificates, type TestCertificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { serviceEnvironment } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { type Postgres, startPostgres } from "@herald/dev/stack/postgres";
import { removePostgresData } from "@herald/dev/stack/postgres-programs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
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
  server = await startPostgres({ folder, disposable: true, tls: made.trusted });
  url = server.url;
}, STACK_TIMEOUT_MS);
beforeEach(() => present(made.trusted));
afterAll(async () => {
  await server?.stop();
  removePostgresData(folder);
});

/** Gives the server another certificate, as a person does it who renews one, or forgot to. */
async function present(certificate: KeyPair): Promise<void> {
  const [file] = await asAdmin(
    "select current_setting('ssl_cert_file') as cert, current_setting('ssl_key_file') as key",
  );
  // In place: the files keep their owner and rights.
  writeFileSync(file.cert, certificate.cert);
  writeFileSync(file.key, certificate.key);
  await asAdmin("select pg_reload_conf()");
}

/** Why the server can't be used, or whether the connection is encrypted. */
async function outcome(url: string, ca: string): Promise<unknown> {
  const database = openDatabase(url, { caFile: fileOf(ca), poolSize: 1 });
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

/** A file with a text. */
function fileOf(text: string): string {
  const file = join(folder, `${randomUUID()}.pem`);
  writeFileSync(file, text);
  return file;
}

/** Runs statements as the server's superuser, whatever its certificate. */
async function asAdmin(...statements: string[]): Promise<pg.QueryResult["rows"]> {
  const admin = new pg.Client({ connectionString: url, ssl: { rejectUnauthorized: false } });
  await admin.connect();
  try {
    let rows: pg.QueryResult["rows"] = [];
    for (const statement of statements) ({ rows } = await admin.query(statement));
    return rows;
  } finally {
    await admin.end();
  }
}

/** As a fail-over does it. */
const END_SESSIONS =
  "select pg_terminate_backend(pid) from pg_stat_activity where datname is not null and pid <> pg_backend_pid()";

const at = (host: string) => Object.assign(new URL(url), { hostname: host }).href;

test("PostgreSQL with a certificate of the authority in the file is used over TLS, by name and by address", async () => {
  await eventually(async () => expect(await outcome(url, made.caPem)).toBe(true));
  expect(await outcome(at("localhost"), made.caPem)).toBe(true);
  expect(await outcome(`${url}?sslmode=require`, made.caPem)).toBe(true);
  await migrate(url, { caFile: fileOf(made.caPem) });
});

test("PostgreSQL with a certificate of another authority, or for another name, is refused, with what to do", async () => {
  const other = (await makeAuthority("Another authority")).cert;
  const authority = [
    "PostgreSQL's certificate is from an authority that is not trusted here",
    "that DATABASE_CA_FILE names",
  ];
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
  await expect(migrate(url, { caFile: fileOf(other) })).rejects.toThrow("that DATABASE_CA_FILE names");
});

test("a certificate that expires while a service runs stops new connections only, in words, until it is renewed", async () => {
  const database = openDatabase(url, { caFile: fileOf(made.caPem), poolSize: 1 });
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

test("regression: a process follows its file of authorities to the next one, without a restart, and says which it holds", async () => {
  await present(made.trusted);
  const caFile = fileOf(made.caPem);
  await eventually(() => migrate(url, { caFile }));
  const environment = serviceEnvironment(url, { url: "amqp://127.0.0.1:1", namespace: "herald" });
  const config = readConfig(serviceSettings, { ...environment, DATABASE_CA_FILE: caFile });
  const shared = await openProcess(["publisher"], config);
  const service = await shared.open("publisher", config, { facts: {} });
  try {
    const isReady = async () => {
      const answer = await fetch(`http://127.0.0.1:${shared.operationsPort}/readyz`, {
        headers: { connection: "close" },
      });
      return ((await answer.json()) as { database: boolean }).database;
    };
    const held = async () =>
      (await asAdmin("select facts -> 'DATABASE_CA_FILE' ->> 'mark' as mark from process"))[0]?.mark;
    await eventually(async () => expect(await isReady()).toBe(true));
    await eventually(async () => expect(await held()).toMatch(/^1 authorities/));
    const next = await makeAuthority("The next authority");
    writeFileSync(caFile, `${made.caPem}\n${next.cert}`);
    await present(await next.issue({ names: ["127.0.0.1"] }));
    await asAdmin(END_SESSIONS);
    await eventually(async () => expect(await service.database.queries.$queryRaw`select 1`).toHaveLength(1));
    await eventually(async () => expect(await isReady()).toBe(true));
    await eventually(async () => expect(await held()).toMatch(/^2 authorities/));
  } finally {
    await service.close();
  }
});

describe("a certificate of one's own in the URL", () => {
  let clients: CertificateAuthority;
  const files = { sslcert: "", sslkey: "" };
  const write = ({ cert, key }: KeyPair) => {
    writeFileSync(files.sslcert, cert);
    writeFileSync(files.sslkey, key);
  };
  let certified: URL;

  beforeAll(async () => {
    clients = await makeAuthority("Clients");
    const [{ hba, cert }] = (await asAdmin(
      "select current_setting('hba_file') as hba, current_setting('ssl_cert_file') as cert",
    )) as [{ hba: string; cert: string }];
    const root = `${cert}.clients`;
    // It gets the owner and rights of the server's certificate.
    copyFileSync(cert, root);
    chownSync(root, statSync(cert).uid, statSync(cert).gid);
    writeFileSync(root, clients.cert);
    writeFileSync(hba, `hostssl all certified all cert\n${readFileSync(hba, "utf8")}`);
    await asAdmin("create role certified login", `alter system set ssl_ca_file = '${root}'`, "select pg_reload_conf()");
    const { cert: own, key } = await clients.issue({ names: ["certified"], usage: "client" });
    Object.assign(files, { sslcert: fileOf(own), sslkey: fileOf(key) });
    certified = new URL(url);
    Object.assign(certified, { username: "certified", password: "" });
    certified.search = new URLSearchParams({
      sslmode: "verify-full",
      sslrootcert: fileOf(made.caPem),
      ...files,
    }).toString();
  });

  test.each<[string, () => Promise<KeyPair>]>([
    [
      "that has expired",
      () => clients.issue({ names: ["certified"], usage: "client", notBefore: new Date(0), notAfter: new Date(1_000) }),
    ],
    [
      "of an authority that the server does not trust",
      async () => (await makeAuthority("Another authority")).issue({ names: ["certified"], usage: "client" }),
    ],
  ])("%s is refused in words, and a new one is used without a restart", async (_what, wrong) => {
    const database = openDatabase(certified.href, { poolSize: 1 });
    const ask = () => database.queries.$queryRaw`select 1`;
    try {
      await eventually(ask);
      write(await wrong());
      await eventually(async () => {
        await asAdmin(END_SESSIONS);
        database.tlsFiles?.failed(Object.assign(new Error(), { code: "CERT_HAS_EXPIRED" }));
        await expect(ask()).rejects.toThrow(
          /does not take the certificate that this process shows.*sslcert and sslkey/,
        );
      });
      write(await clients.issue({ names: ["certified"], usage: "client" }));
      await eventually(ask);
    } finally {
      await database.close();
    }
  });

  test("regression: the process lives while a file is missing, and connects with what it held", async () => {
    const database = openDatabase(certified.href, { poolSize: 1 });
    try {
      await eventually(() => database.queries.$queryRaw`select 1`);
      rmSync(files.sslcert);
      await asAdmin(END_SESSIONS);
      await eventually(() => database.queries.$queryRaw`select 1`);
    } finally {
      await database.close();
    }
  });
});
