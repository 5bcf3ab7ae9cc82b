import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterAll, describe, expect, test } from "@jest/globals";
import { ConfigError } from "../config/read-config.ts";
import { type Explanation, explainTlsFailure, readCaFile, tlsFailureOf } from "./server-certificate.ts";

const server = { name: "PostgreSQL", urlSetting: "DATABASE_URL", caSetting: "DATABASE_CA_FILE" };
const folder = mkdtempSync(join(tmpdir(), "herald-ca-"));
afterAll(() => rmSync(folder, { recursive: true }));

function fileOf(text: string): string {
  const file = join(folder, "ca.pem");
  writeFileSync(file, text);
  return file;
}

function problemOf(file: string): string {
  try {
    readCaFile("DATABASE_CA_FILE", file);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return "";
}

describe("a file of certificate authorities", () => {
  test("is read where the setting is there", () => {
    const text = `# two of them\n${rootCertificates.slice(0, 2).join("\n")}\n`;
    expect(readCaFile("DATABASE_CA_FILE", fileOf(text))).toBe(text);
    expect(readCaFile("DATABASE_CA_FILE", undefined)).toBeUndefined();
  });

  test("is named where it can't be read", () => {
    const problem = problemOf(join(folder, "absent.pem"));
    expect(problem).toContain("DATABASE_CA_FILE names a file that can't be read");
    expect(problem).toContain("absent.pem");
  });

  test.each([
    ["empty", ""],
    ["a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"],
    ["DER", "0\x82"],
  ])("is refused where it holds no certificate: %s", (_what, text) => {
    expect(problemOf(fileOf(text))).toContain("holds no certificate in PEM");
  });

  test("is refused where one of its certificates is damaged", () => {
    const damaged = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    expect(problemOf(fileOf(`${rootCertificates[0]}\n${damaged}`))).toContain("certificate 2 of");
  });
});

describe("a refusal by TLS", () => {
  const ofCode = (code: string, more = {}) => Object.assign(new Error("refused"), { code, ...more });

  test.each([
    ["SELF_SIGNED_CERT_IN_CHAIN", "name it by DATABASE_CA_FILE"],
    ["CERT_HAS_EXPIRED", "Renew it on the server"],
    ["CERT_NOT_YET_VALID", "Compare the clocks"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "does not speak TLS at this port"],
  ])("says what to do: %s", (code, words) => {
    const { what, remedy } = explainTlsFailure(ofCode(code), server) as Explanation;
    expect(`${what} ${remedy}`).toContain(words);
  });

  test("names the host that was asked for and the names of the certificate", () => {
    const error = ofCode("ERR_TLS_CERT_ALTNAME_INVALID", {
      host: "db.internal",
      cert: { subjectaltname: "DNS:other" },
    });
    expect(explainTlsFailure(error, server)?.what).toContain("is for DNS:other, and not for db.internal");
  });

  test("is told from other failures", () => {
    expect(tlsFailureOf(new Error("The server does not support SSL connections"))).toBe("no TLS");
    for (const error of [ofCode("ECONNREFUSED"), new Error("no"), undefined, "text"]) {
      expect(tlsFailureOf(error)).toBeUndefined();
      expect(explainTlsFailure(error, server)).toBeUndefined();
    }
  });
});
