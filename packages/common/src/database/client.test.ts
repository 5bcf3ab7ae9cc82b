import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterAll, expect, test } from "@jest/globals";
import { ConfigError } from "../config/read-config.ts";
import { TlsFiles } from "../security/tls-files.ts";
import { addressOf, preparesStatements } from "./client.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-address-"));
afterAll(() => rmSync(folder, { recursive: true }));
const CA = join(folder, "ca.pem");
writeFileSync(CA, rootCertificates[0] ?? "");

test("statements are prepared under a name unless the URL says pgbouncer=true", () => {
  expect(preparesStatements("postgres://u:p@db/herald")).toBe(true);
  expect(preparesStatements("postgres://u:p@db/herald?sslmode=require&pgbouncer=true")).toBe(false);
  expect(preparesStatements("postgres://u:p@db/herald?pgbouncer=false")).toBe(true);
});

test("without own authorities the URL alone decides about TLS", () => {
  const url = "postgres://u:p@db/herald?sslmode=no-verify";
  expect(addressOf(url)).toEqual({ connectionString: url });
});

test.each(["", "?sslmode=require", "?sslmode=verify-full", "?sslmode=verify-ca&uselibpqcompat=true"])(
  "with them TLS is asked for, and the name is checked, whether the URL ends in %j or not",
  (query) => {
    expect(addressOf(`postgres://u:p@db.internal:5433/herald${query}`, CA)).toEqual({
      connectionString: "postgres://u:p@db.internal:5433/herald",
      ssl: {},
      tlsFiles: expect.any(TlsFiles),
    });
  },
);

test.each<[string, object | boolean]>([
  [`sslmode=verify-full&sslrootcert=${CA}`, {}],
  [`sslmode=no-verify&sslrootcert=${CA}`, { rejectUnauthorized: false }],
  [`uselibpqcompat=true&sslmode=require&sslrootcert=${CA}`, { checkServerIdentity: expect.any(Function) }],
  [`sslmode=disable&sslrootcert=${CA}`, false],
])("a file in a URL with %s is read here, and the rest of it says what it says", (query, ssl) => {
  const address = addressOf(`postgres://u:p@db/herald?pgbouncer=true&${query}`);
  expect(address.connectionString).toBe("postgres://u:p@db/herald?pgbouncer=true");
  expect(address.ssl && { ...(address.ssl as object), ca: undefined }).toEqual(
    ssl && { ...(ssl as object), ca: undefined },
  );
  expect(address.tlsFiles?.current()).toEqual({ ca: rootCertificates[0] });
  expect(Object.keys(address.tlsFiles?.held() ?? {})).toEqual(["sslrootcert in DATABASE_URL"]);
});

test("regression: with sslnegotiation=direct in the URL the file of authorities still counts", () => {
  const address = addressOf("postgres://u:p@db/herald?sslnegotiation=direct", CA);
  expect(address).toMatchObject({ connectionString: "postgres://u:p@db/herald", sslnegotiation: "direct", ssl: {} });
});

test("a file in a URL that can't be read is refused at the start, and named", () => {
  expect(() => addressOf("postgres://u:do-not-show@db/herald?sslrootcert=/nowhere.pem")).toThrow(
    /sslrootcert in DATABASE_URL names a file that can't be read: ENOENT/,
  );
});

test.each(["sslmode=disable", "sslmode=no-verify", "ssl=0", "sslrootcert=/ca.pem", "sslcert=/a.pem&sslkey=/b.pem"])(
  "a URL that says %s beside them is refused, without a password in the words",
  (query) => {
    const reading = () => addressOf(`postgres://u:do-not-show@db/herald?${query}`, CA);
    expect(reading).toThrow(ConfigError);
    expect(reading).toThrow(/Remove one of them/);
    expect(reading).not.toThrow(/do-not-show/);
  },
);
