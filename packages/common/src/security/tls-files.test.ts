import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { type KeyPair, makeAuthority } from "@herald/dev/certificates/authority";
import { eventually } from "@herald/dev/harness/eventually";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { ConfigError } from "../config/read-config.ts";
import type { LogFields } from "../telemetry/log.ts";
import { authoritiesOf, type Pem, TlsFiles } from "./tls-files.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-ca-"));
afterAll(() => rmSync(folder, { recursive: true }));

const [ONE = "", TWO = "", THREE = ""] = rootCertificates;
const DAMAGED = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

function fileOf(text: string, name = "ca.pem"): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

function problemOf(file: string): string {
  try {
    authoritiesOf("DATABASE_CA_FILE", file);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return "";
}

test("a file of certificate authorities is read if its setting is present", () => {
  const text = `# two of them\n${ONE}\n${TWO}\n`;
  expect(authoritiesOf("DATABASE_CA_FILE", fileOf(text))?.current()).toEqual({ ca: `${ONE}\n${TWO}` });
  expect(authoritiesOf("DATABASE_CA_FILE", undefined)).toBeUndefined();
});

test("OpenSSL gets each of the authorities whose files were joined without an end of a line between them", () => {
  const file = fileOf(`${ONE}${TWO}${THREE}`);
  expect(authoritiesOf("DATABASE_CA_FILE", file)?.current()).toEqual({ ca: [ONE, TWO, THREE].join("\n") });
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

test.each([
  ["damaged", DAMAGED],
  ["cut off", TWO.slice(0, 400)],
])("a file of certificate authorities is refused if one of its certificates is %s", (_what, second) => {
  expect(problemOf(fileOf(`${ONE}\n${second}`))).toContain("certificate 2 of");
});

test("authorities have the same mark in whatever order and form, and others have another one", () => {
  const markOf = (text: string) => authoritiesOf("A", fileOf(text))?.held().A?.mark;
  expect(markOf(`${ONE}\n${TWO}`)).toMatch(/^2 authorities \([0-9a-f]{8}\)$/);
  expect(markOf(`# a comment\r\n${TWO.replaceAll("\n", "\r\n")}\n${ONE}`)).toBe(markOf(`${ONE}\n${TWO}`));
  expect(markOf(`${ONE}\n${THREE}`)).not.toBe(markOf(`${ONE}\n${TWO}`));
});

describe("a file that changes while a process runs", () => {
  let nowMs: number;
  let lines: [string, LogFields | undefined][];
  beforeEach(() => {
    nowMs = 0;
    lines = [];
  });
  function opened(named: ConstructorParameters<typeof TlsFiles>[0]): TlsFiles {
    // Its last look may end after its test.
    const own = lines;
    const line = (message: string, fields?: LogFields) => void own.push([message, fields]);
    return new TlsFiles(named, { log: { info: line, warn: line }, nowMs: () => nowMs });
  }
  const authorities = (file: string) => opened([{ use: "ca", setting: "AMQP_CA_FILE", file }]);
  const TLS_FAULT = Object.assign(new Error("not trusted"), { code: "SELF_SIGNED_CERT_IN_CHAIN" });

  const eventuallyHolds = (files: TlsFiles, pem: Pem) => eventually(() => expect(files.current()).toEqual(pem));

  test("is read again after a minute, and said once, with its setting and since when", async () => {
    const files = authorities(fileOf(ONE));
    const file = fileOf(TWO);
    nowMs = 59_999;
    expect(files.current()).toEqual({ ca: ONE });
    nowMs = 60_000;
    await eventuallyHolds(files, { ca: TWO });
    expect(lines).toEqual([
      [expect.stringContaining("has changed"), { setting: "AMQP_CA_FILE", file, since: expect.stringMatching(/Z$/) }],
    ]);
    const held = files.current();
    nowMs = 120_000;
    expect(files.current()).toBe(held);
  });

  test("is read again if a connection fails by its TLS, at most once a second, and not for another failure", async () => {
    const files = authorities(fileOf(ONE));
    fileOf(TWO);
    await files.failed(TLS_FAULT);
    nowMs = 1_000;
    await files.failed(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
    expect(files.current()).toEqual({ ca: ONE });
    await Promise.all([files.failed(TLS_FAULT), files.failed(TLS_FAULT)]);
    expect(files.current()).toEqual({ ca: TWO });
  });

  test("is found behind symbolic links that are exchanged, as Kubernetes does it", async () => {
    const [first, second] = [fileOf(ONE, "first"), fileOf(TWO, "second")];
    const link = join(folder, "link");
    symlinkSync(first, link);
    const files = authorities(link);
    symlinkSync(second, `${link}.new`);
    renameSync(`${link}.new`, link);
    nowMs = 60_000;
    await eventuallyHolds(files, { ca: TWO });
  });

  test.each<[string, (file: string) => void, string]>([
    ["that is gone", (file) => rmSync(file), "ENOENT"],
    ["with a damaged certificate", () => fileOf(`${TWO}\n${DAMAGED}`), "certificate 2 of"],
    ["that is written just now", () => fileOf(TWO.slice(0, 300)), "certificate 1 of"],
    ["that is empty", () => fileOf(""), "holds no certificate"],
  ])("and %s changes nothing, with one warning, until it can be used", async (_what, change, reason) => {
    const file = fileOf(ONE);
    const files = authorities(file);
    change(file);
    for (let minute = 1; minute <= 3; minute++) {
      nowMs = minute * 60_000;
      expect(files.current()).toEqual({ ca: ONE });
      await eventually(() => expect(lines).toHaveLength(1));
    }
    const fields = { setting: "AMQP_CA_FILE", reason: expect.stringContaining(reason) };
    expect(lines).toEqual([[expect.stringContaining("can't be used"), fields]]);
    fileOf(THREE);
    nowMs += 60_000;
    await eventuallyHolds(files, { ca: THREE });
    expect(lines).toHaveLength(2);
  });

  describe("of a certificate with its key", () => {
    let pairs: [KeyPair, KeyPair];
    beforeAll(async () => {
      const authority = await makeAuthority("Clients");
      pairs = [await authority.issue({ names: ["a"] }), await authority.issue({ names: ["b"] })];
    });

    test("both are used together: never one of the old pair with one of the new", async () => {
      const [old, renewed] = pairs;
      const files = opened([
        { use: "cert", setting: "sslcert", file: fileOf(old.cert, "cert") },
        { use: "key", setting: "sslkey", file: fileOf(old.key, "key") },
      ]);
      fileOf(renewed.cert, "cert");
      nowMs = 60_000;
      files.current();
      await eventually(() => expect(lines).toHaveLength(1));
      expect(lines[0]?.[1]).toEqual({ setting: "sslcert, sslkey", reason: expect.stringContaining("can't be used") });
      expect(files.current()).toEqual({ cert: old.cert, key: old.key });
      fileOf(renewed.key, "key");
      nowMs = 120_000;
      await eventuallyHolds(files, { cert: renewed.cert, key: renewed.key });
      expect(files.held()).toEqual({});
      expect(JSON.stringify(lines)).not.toContain("PRIVATE");
    });
  });
});
