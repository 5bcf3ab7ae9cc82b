import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { LANGUAGES, receiverCode } from "../src/scenes/signature/receiver-code.ts";

const run = promisify(execFile);
const secret = "c2VjcmV0IG9mIHRoZSB0ZXN0cywgMzIgYnl0ZXM9PT0=";
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "herald-receiver-code-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const seconds = (): number => Math.floor(Date.now() / 1000);
const sign = (timestamp: string, body: string): string =>
  `sha256=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`;

interface Case {
  what: string;
  accepted: boolean;
  signature: string;
  timestamp: string;
  body: string;
}

function cases(): Case[] {
  const body = '{"id": "1",  "name": "Übergröße"}\n';
  const now = String(seconds());
  const made = (what: string, accepted: boolean, change: Partial<Case> = {}): Case => {
    const timestamp = change.timestamp ?? now;
    return { what, accepted, body, timestamp, signature: sign(timestamp, body), ...change };
  };
  return [
    made("right", true),
    made("290 s old", true, { timestamp: String(seconds() - 290) }),
    made("too old", false, { timestamp: String(seconds() - 310) }),
    made("from the future", false, { timestamp: String(seconds() + 310) }),
    made("another body", false, { body: '{"id":"1","name":"Übergröße"}' }),
    made("another digest", false, { signature: sign(now, "something else") }),
    made("upper case", false, { signature: sign(now, body).toUpperCase().replace("SHA256", "sha256") }),
    made("no prefix", false, { signature: sign(now, body).slice(7) }),
    made("a line break behind it", false, { signature: `${sign(now, body)}\n` }),
    made("no signature", false, { signature: "" }),
    made("no timestamp", false, { timestamp: "" }),
    made("a timestamp with a sign", false, { timestamp: `+${now}` }),
    made("a timestamp with a leading zero", false, { timestamp: `0${now}` }),
    made("a timestamp with a fraction", false, { timestamp: `${now}.5` }),
    made("a timestamp with a line break", false, { timestamp: `${now}\n` }),
    made("a timestamp beyond safe integers", false, { timestamp: "9007199254740993" }),
  ];
}

type Verify = (signature: string, timestamp: string, body: string) => Promise<boolean>;

const verifiers: Record<string, () => Promise<Verify>> = {
  "Node.js": async () => {
    const file = join(folder, "verify.mjs");
    await writeFile(file, receiverCode("Node.js", "X-Service"));
    const { verify } = await import(pathToFileURL(file).href);
    return async (signature, timestamp, body) =>
      verify({ "x-service-signature": signature, "x-service-timestamp": timestamp }, Buffer.from(body), secret);
  },
  Python: async () => {
    await writeFile(join(folder, "verify.py"), receiverCode("Python", "X-Service"));
    const program = `import sys, json
sys.path.insert(0, sys.argv[1])
from verify import verify
c = json.loads(sys.argv[2])
print(verify({"X-Service-Signature": c[0], "X-Service-Timestamp": c[1]}, c[2].encode(), c[3]))`;
    return async (...each) => {
      const { stdout } = await run("python3", ["-c", program, folder, JSON.stringify([...each, secret])]);
      return stdout.trim() === "True";
    };
  },
};

const hasPython = await run("python3", ["--version"]).then(
  () => true,
  () => false,
);

describe.each(hasPython ? ["Node.js", "Python"] : ["Node.js"])("the code that the page shows for %s", (language) => {
  test("accepts what is right and nothing else", async () => {
    const verify = await verifiers[language]?.();
    const wrong: string[] = [];
    for (const { what, accepted, signature, timestamp, body } of cases()) {
      if ((await verify?.(signature, timestamp, body)) !== accepted) wrong.push(what);
    }
    expect(wrong).toEqual([]);
  });
});

test.each(LANGUAGES)("the code for %s names this Herald's headers", (language) => {
  const code = receiverCode(language, "Acme-Hook");
  expect(code).toMatch(/acme-hook-signature/i);
  expect(code).not.toMatch(/x-service/i);
});
