import { describe, expect, test } from "@jest/globals";
import { ConfigError } from "../config/read-config.ts";
import { addressOf, assertSupported, preparesStatements } from "./client.ts";

const CA = "-----BEGIN CERTIFICATE-----";

describe("how PostgreSQL is reached", () => {
  test("statements are prepared under a name unless the URL says pgbouncer=true", () => {
    expect(preparesStatements("postgres://u:p@db/herald")).toBe(true);
    expect(preparesStatements("postgres://u:p@db/herald?sslmode=require&pgbouncer=true")).toBe(false);
    expect(preparesStatements("postgres://u:p@db/herald?pgbouncer=false")).toBe(true);
  });

  test("without own authorities the URL alone decides about TLS", () => {
    const url = "postgres://u:p@db/herald?sslmode=no-verify";
    expect(addressOf(url, undefined)).toEqual({ connectionString: url });
  });

  test.each(["", "?sslmode=require", "?sslmode=verify-full", "?sslmode=verify-ca&uselibpqcompat=true"])(
    "with them TLS is asked for, and the name is checked, whether the URL ends in %j or not",
    (query) => {
      expect(addressOf(`postgres://u:p@db.internal:5433/herald${query}`, CA)).toEqual({
        connectionString: "postgres://u:p@db.internal:5433/herald",
        ssl: { ca: CA, host: "db.internal" },
      });
    },
  );

  test("an address that is a number is checked as that number", () => {
    expect(addressOf("postgres://u:p@10.0.0.1/herald", CA)).toMatchObject({ ssl: { host: "10.0.0.1" } });
    expect(addressOf("postgres://u:p@[::1]:5432/herald", CA)).toMatchObject({ ssl: { host: "::1" } });
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
});

test("a server that is too old is refused, with its version and the reason; the oldest supported one and newer ones pass", () => {
  expect(() => assertSupported(140_020, "14.20")).toThrow(/PostgreSQL 14\.20; Herald needs 15 or newer/);
  assertSupported(150_000, "15.0");
  assertSupported(190_001, "19.1");
});
