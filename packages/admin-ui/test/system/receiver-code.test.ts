import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { askForGo, askForMono, STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { LANGUAGES, receiverCode } from "../../src/scenes/signature/receiver-code.ts";

interface Case {
  name: string;
  accepted: boolean;
  signature: string;
  timestamp: string;
  body: string;
  secret: string;
}

const SECRET = "mT1y+Zq0v9u4m2l8J7hF3kD5sA6pW1xC0eR9tYbNvQs=";
const BODY = '{"id":"0199f3a2-7c1e-7b5a-9d3e-1f2a3b4c5d6e","type":"RiskCreated","data":{}}';
/** SPEC 4.3, written down once more. */
function sign(secret: string, timestamp: string, body: string): string {
  return `sha256=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`;
}

/** Requests as they are at a time in seconds, and what becomes of each. */
function casesAt(now: number): Case[] {
  function signed(name: string, accepted: boolean, parts: Partial<Case> = {}): Case {
    const { timestamp = String(now), body = BODY, secret = SECRET } = parts;
    return { name, accepted, timestamp, body, secret, signature: sign(secret, timestamp, body), ...parts };
  }
  const good = sign(SECRET, String(now), BODY);
  return [
    signed("as sent", true),
    signed("text beyond ASCII", true, { body: '{"name":"Größe 漢字 🚀"}' }),
    signed("an empty body", true, { body: "" }),
    signed("a body with spaces and line breaks", true, { body: ' { "a" : 1 }\r\n' }),
    signed("a secret with spaces around it, which belong to it", true, { secret: " secret " }),
    signed("four minutes old", true, { timestamp: String(now - 240) }),
    signed("four minutes ahead", true, { timestamp: String(now + 240) }),
    signed("another body", false, { signature: sign(SECRET, String(now), `${BODY} `) }),
    signed("another secret", false, { signature: sign("other", String(now), BODY) }),
    signed("another time", false, { signature: sign(SECRET, String(now - 1), BODY) }),
    signed("the secret decoded from Base64", false, {
      signature: `sha256=${createHmac("sha256", Buffer.from(SECRET, "base64")).update(`${now}.${BODY}`).digest("hex")}`,
    }),
    signed("no signature", false, { signature: "" }),
    signed("a signature without its prefix", false, { signature: good.slice(7) }),
    signed("capital letters", false, { signature: `sha256=${good.slice(7).toUpperCase()}` }),
    signed("a digit too few", false, { signature: good.slice(0, -1) }),
    signed("a digit too many", false, { signature: `${good}0` }),
    signed("a line break behind the signature", false, { signature: `${good}\n` }),
    signed("two signatures", false, { signature: `${good}, ${good}` }),
    signed("no timestamp", false, { timestamp: "" }),
    signed("six minutes old", false, { timestamp: String(now - 360) }),
    signed("six minutes ahead", false, { timestamp: String(now + 360) }),
    signed("a zero before the timestamp", false, { timestamp: `0${now}` }),
    signed("a sign before the timestamp", false, { timestamp: `+${now}` }),
    signed("a fraction", false, { timestamp: `${now}.0` }),
    signed("an exponent", false, { timestamp: "1e9" }),
    signed("a space behind the timestamp", false, { timestamp: `${now} ` }),
    signed("a line break behind the timestamp", false, { timestamp: `${now}\n` }),
    signed("digits of another script", false, { timestamp: "１７００００００００" }),
    signed("milliseconds", false, { timestamp: String(now * 1_000) }),
    signed("no safe integer", false, { timestamp: "9007199254740993" }),
    signed("too many digits", false, { timestamp: "99999999999999999" }),
  ];
}

const folder = mkdtempSync(join(tmpdir(), "herald-snippets-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Try {
  files: (code: string) => Record<string, string>;
  /** Finds or installs what compiles and runs the files, compiles them, and returns the program that reads the cases. */
  build: (cwd: string) => Promise<[program: string, ...args: string[]]>;
  /** What the program reads; the cases as JSON unless said otherwise. */
  input?: (cases: readonly Case[]) => string;
}

const tries: Record<string, Try> = {
  "Node.js": {
    files: (code) => ({
      "verify.mjs": code,
      "try.mjs": `import { readFileSync } from "node:fs";
import { verify } from "./verify.mjs";
const verdicts = JSON.parse(readFileSync(0)).map(({ signature, timestamp, body, secret }) =>
  verify({ "x-service-signature": signature, "x-service-timestamp": timestamp }, Buffer.from(body), secret));
console.log(JSON.stringify(verdicts));`,
    }),
    build: async () => [process.execPath, "try.mjs"],
  },
  Python: {
    files: (code) => ({
      "verify.py": code,
      "attempt.py": `import json, sys
from verify import verify
print(json.dumps([verify({"X-Service-Signature": c["signature"], "X-Service-Timestamp": c["timestamp"]}, c["body"].encode(), c["secret"]) for c in json.loads(sys.stdin.buffer.read())]))`,
    }),
    build: async (cwd) => {
      await run(["python3", "--version"], cwd).catch(() => {
        throw new Error("Python 3 is not installed: install it (on Debian: apt-get install python3) and try again.");
      });
      return ["python3", "-B", "attempt.py"];
    },
  },
  Go: {
    files: (code) => ({
      "go.mod": "module attempt\n\ngo 1.18\n",
      "webhook/webhook.go": code,
      "main.go": `package main

import (
	"encoding/json"
	"net/http"
	"os"

	"attempt/webhook"
)

func main() {
	var cases []struct{ Signature, Timestamp, Body, Secret string }
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	verdicts := []bool{}
	for _, c := range cases {
		header := http.Header{"X-Service-Signature": {c.Signature}, "X-Service-Timestamp": {c.Timestamp}}
		verdicts = append(verdicts, webhook.Verify(header, []byte(c.Body), c.Secret))
	}
	json.NewEncoder(os.Stdout).Encode(verdicts)
}`,
    }),
    build: async (cwd) => {
      const { executable } = await askForGo();
      await run([executable, "build", "-o", "attempt", "."], cwd);
      return [join(cwd, "attempt")];
    },
  },
  // Mono's compiler knows the C# of .NET Framework, so what it takes, every later one takes.
  "C#": {
    files: (code) => ({
      "Webhook.cs": code,
      "Attempt.cs": `using System;
using System.Collections.Generic;
using System.Text;

static class Attempt
{
    static string Text(string base64) { return Encoding.UTF8.GetString(Convert.FromBase64String(base64)); }

    static void Main()
    {
        var verdicts = new List<string>();
        for (string line; (line = Console.ReadLine()) != null && line != "";)
        {
            string[] parts = line.Split(' ');
            bool verdict = Webhook.Verify(Text(parts[0]), Text(parts[1]), Convert.FromBase64String(parts[2]), Text(parts[3]));
            verdicts.Add(verdict ? "true" : "false");
        }
        Console.WriteLine("[" + string.Join(",", verdicts) + "]");
    }
}`,
    }),
    build: async (cwd) => {
      const { compiler, runtime } = await askForMono();
      const options = ["-nologo", "-warnaserror", "-r:System.Core.dll", "-out:attempt.exe"];
      await run([compiler, ...options, "Webhook.cs", "Attempt.cs"], cwd);
      return [runtime, "attempt.exe"];
    },
    input: (cases) =>
      cases
        .map(({ signature, timestamp, body, secret }) => [signature, timestamp, body, secret])
        .map((parts) => parts.map((part) => Buffer.from(part).toString("base64")).join(" "))
        .join("\n"),
  },
};

/** A first compilation fills caches of hundreds of megabytes. */
const BUILD_TIMEOUT_MS = STACK_TIMEOUT_MS + 600_000;

/** @returns what it wrote; rejects with what it complained of */
function run([program, ...args]: [string, ...string[]], cwd: string, input = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { cwd }, (error, stdout, stderr) => {
      if (error || stderr) reject(new Error(`${program} ${args.join(" ")}: ${stderr || error?.message}`));
      else resolve(stdout);
    });
    child.stdin?.end(input);
  });
}

describe.each(Object.entries(tries))("%s", (language, { files, build, input = JSON.stringify }) => {
  const cwd = join(folder, encodeURIComponent(language));
  let program: [string, ...string[]];

  // Outside the tested time, so that the cases are as old as they say.
  beforeAll(async () => {
    const code = receiverCode(language as (typeof LANGUAGES)[number], "X-Service");
    for (const [name, text] of Object.entries(files(code))) {
      await mkdir(dirname(join(cwd, name)), { recursive: true });
      writeFileSync(join(cwd, name), text);
    }
    program = await build(cwd);
  }, BUILD_TIMEOUT_MS);

  test(`§4.4.3 the verifier in ${language} accepts what was signed and rejects the rest`, async () => {
    const cases = casesAt(Math.floor(Date.now() / 1_000));
    const verdicts = JSON.parse(await run(program, cwd, input(cases))) as boolean[];
    expect(cases.map(({ name }, index) => [name, verdicts[index]])).toEqual(
      cases.map(({ name, accepted }) => [name, accepted]),
    );
  });
});

test.each(LANGUAGES)("the verifier in %s names this Herald's headers", (language) => {
  const code = receiverCode(language, "Acme-Hook");
  expect(code).toMatch(/acme-hook-signature/i);
  expect(code).not.toMatch(/x-service/i);
});

test.each(LANGUAGES)("docs/receiving-webhooks.md shows the same verifier in %s", (language) => {
  const document = readFileSync(new URL("../../../../docs/receiving-webhooks.md", import.meta.url), "utf8");
  expect(document).toContain(`\n${receiverCode(language, "X-Service").trim()}\n\`\`\``);
});
