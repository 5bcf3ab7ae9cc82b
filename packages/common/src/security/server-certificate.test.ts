import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterAll, describe, expect, test } from "@jest/globals";
import { ConfigError } from "../config/read-config.ts";
import { readCaFile } from "./server-certificate.ts";

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
  test("a file of certificate authorities is read if its setting is present", () => {
    const text = `# two of them\n${rootCertificates.slice(0, 2).join("\n")}\n`;
    expect(readCaFile("DATABASE_CA_FILE", fileOf(text))).toBe(text);
    expect(readCaFile("DATABASE_CA_FILE", undefined)).toBeUndefined();
  });

  test("a file of certificate authorities that can't be read is named", () => {
    const problem = problemOf(join(folder, "absent.pem"));
    expect(problem).toContain("DATABASE_CA_FILE names a file that can't be read");
    expect(problem).toContain("absent.pem");
  });

  test.each([
    ["empty", ""],
    ["a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"],
    ["DER", "0\x82"],
  ])("a file of certificate authorities is refused if it holds no certificate: %s", (_what, text) => {
    expect(problemOf(fileOf(text))).toContain("holds no certificate in PEM");
  });

  test("a file of certificate authorities is refused if one of its certificates is damaged", () => {
    const damaged = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    expect(problemOf(fileOf(`${rootCertificates[0]}\n${damaged}`))).toContain("certificate 2 of");
  });
});
