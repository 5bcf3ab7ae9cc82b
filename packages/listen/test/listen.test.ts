import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeAuthority } from "@herald/dev/certificates/authority";
import { eventually } from "@herald/dev/harness/eventually";
import { sign } from "@herald/receiver";
import { afterEach, describe, expect, test } from "@jest/globals";
import { type CheckResult, type Listener, type ListenerOptions, startListener } from "../src/index.ts";
import { SECRET, startReceiver } from "./small-receiver.ts";

const secret = "a signing secret";
const body = '{"id":"5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111","type":"RiskCreated"}';

/** The headers of a sender that signs now. */
function signed(text: string, key = secret): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1000);
  return {
    "X-Service-Signature": sign(key, timestamp, Buffer.from(text)),
    "X-Service-Timestamp": String(timestamp),
    "X-Service-Event": "RiskCreated",
    "X-Service-Delivery-Id": "delivery-1",
    // Nothing of a connection outlives its test.
    Connection: "close",
  };
}

const post = (url: string, headers: Record<string, string>, text = body) =>
  fetch(url, { method: "POST", headers, body: text });

describe("listener", () => {
  let listener: Listener | undefined;
  afterEach(async () => {
    await listener?.close();
    listener = undefined;
  });

  async function start(options: Partial<ListenerOptions> = {}) {
    const printed: string[] = [];
    const print = (text: string) => printed.push(text);
    listener = await startListener({ host: "127.0.0.1", port: 0, secrets: [secret], print, ...options });
    return { url: listener.url, printed };
  }

  test("the listener answers 204 to what verifies, and prints it", async () => {
    const { url, printed } = await start();
    expect((await post(`${url}hooks`, signed(body))).status).toBe(204);
    expect(printed).toEqual([
      expect.stringMatching(/POST \/hooks {2}RiskCreated {2}verified, signed \d+ s ago {2}-> 204\n/),
    ]);
  });

  test("the listener answers 401 to what does not, and prints why", async () => {
    const { url, printed } = await start();
    const answer = await post(url, signed(body, "another"));
    expect(answer.status).toBe(401);
    expect(await answer.text()).toMatch(/^signature_mismatch: /);
    expect(printed).toEqual([expect.stringContaining("NOT VERIFIED (signature_mismatch)  -> 401")]);
  });

  test("the listener says so if it knows no secret", async () => {
    const { url, printed } = await start({ secrets: [] });
    expect((await post(url, signed(body))).status).toBe(401);
    expect(printed).toEqual([expect.stringContaining("no signing secret is known here")]);
  });

  test("the listener answers with the status that it was given", async () => {
    const { url } = await start({ status: 500 });
    expect((await post(url, signed(body))).status).toBe(500);
  });

  test("§4.4.4 the listener answers 413 to what is too large", async () => {
    const { url, printed } = await start({ bodyLimitBytes: 10 });
    expect((await post(url, signed(body))).status).toBe(413);
    expect(printed).toEqual([expect.stringContaining("body_too_large")]);
  });

  test("the listener survives a sender that hangs up", async () => {
    const { url, printed } = await start();
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const halfARequest = "POST / HTTP/1.1\r\nHost: receiver\r\nContent-Length: 10\r\n\r\n{";
    socket.write(halfARequest, () => socket.destroy());
    await eventually(() => expect(printed).toContainEqual(expect.stringContaining("hung up")));
    expect((await post(url, signed(body))).status).toBe(204);
  });
});

describe("command", () => {
  let running: ChildProcess | undefined;
  const open: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    running.kill("SIGKILL");
    await once(running, "exit");
  });

  /** Runs the command and gathers what it says. */
  function run(options: string[], environment: Record<string, string> = {}) {
    const command = fileURLToPath(new URL("../bin/herald-listen.js", import.meta.url));
    const env = { ...process.env, WEBHOOK_SECRET: secret, ...environment };
    const child = spawn(process.execPath, [command, ...options], { env });
    running = child;
    const said = { text: "" };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        said.text += chunk;
      });
    }
    return { child, said };
  }

  test.each([
    [
      "words without what steers a terminal",
      400,
      "\u001b]0;owned\u0007\u009b2J\u202e\n-> 204",
      "\\u001b]0;owned\\u0007\\u009b2J\\u202e -> 204",
    ],
    [
      "problem in words",
      401,
      '{"type":"urn:herald:problem:x","detail":"The token is expired.","errors":[{"detail":"Renew it."}]}',
      "The token is expired. Renew it.",
    ],
  ])("herald-listen says of a Herald that refuses its %s", async (_what, status, answer, words) => {
    const refusing = createServer((_, response) => response.writeHead(status).end(answer));
    await once(refusing.listen(0, "127.0.0.1"), "listening");
    open.push(refusing);
    const { child, said } = run(["--herald", `http://127.0.0.1:${(refusing.address() as AddressInfo).port}`], {
      HERALD_TOKEN: "a.b.c",
    });
    expect(await once(child, "close")).toEqual([2, null]);
    expect(said.text).toBe(`herald-listen: Herald answers ${status} to GET /event-types: ${words}\n`);
  });

  test("herald-listen prints what it receives, and ends at SIGTERM", async () => {
    const { child, said } = run(["--port", "0"]);
    const [line] = (await once(child.stdout, "data")) as [string];
    const url = /http:\/\/127\.0\.0\.1:\d+\//.exec(line)?.[0] ?? "";
    expect((await post(url, signed(body))).status).toBe(204);
    child.kill("SIGTERM");
    const [code] = await once(child, "close");
    expect(code).toBe(0);
    expect(said.text).toContain("RiskCreated  verified");
    expect(said.text).not.toContain(secret);
  });

  /** A receiver that ends with the test, and the arguments that check it. */
  async function checked(...of: Parameters<typeof startReceiver>) {
    const receiver = await startReceiver(...of);
    open.push(receiver);
    return ["check", "--url", receiver.url.href, "--secret", SECRET];
  }

  test("herald-listen check speaks HTTPS, and trusts the authority that NODE_EXTRA_CA_CERTS names", async () => {
    const authority = await makeAuthority("an authority of this test");
    const options = await checked({}, await authority.issue({ names: ["127.0.0.1"] }));
    const untrusting = run(options);
    expect(await once(untrusting.child, "close")).toEqual([2, null]);
    expect(untrusting.said.text).toContain("is not trusted");
    const folder = mkdtempSync(join(tmpdir(), "herald-check-"));
    open.push({ close: () => rmSync(folder, { recursive: true }) });
    const NODE_EXTRA_CA_CERTS = join(folder, "authority.pem");
    writeFileSync(NODE_EXTRA_CA_CERTS, authority.cert);
    const trusting = run(options, { NODE_EXTRA_CA_CERTS });
    expect(await once(trusting.child, "close")).toEqual([0, null]);
    expect(trusting.said.text).toMatch(/\nall \d+ passed(, \d+ slowly)?\n/);
  });

  test("herald-listen check --json says what fails, why, and what to do, and ends with 1", async () => {
    const { child, said } = run([...(await checked({ isPost: () => true })), "--json"]);
    expect(await once(child, "close")).toEqual([1, null]);
    const { passed, results } = JSON.parse(said.text) as { passed: boolean; results: CheckResult[] };
    expect(passed).toBe(false);
    expect(results.filter((result) => !result.passed)).toEqual([
      expect.objectContaining({ id: "method_get", statuses: [204] }),
      expect.objectContaining({ id: "method_put", statuses: [204], advice: "Take POST only." }),
    ]);
  });

  test("herald-listen check ends with 2 if nothing listens, since that says nothing of the receiver", async () => {
    const receiver = await startReceiver();
    await receiver.close();
    const { child, said } = run(["check", "--url", receiver.url.href]);
    expect(await once(child, "close")).toEqual([2, null]);
    expect(said.text).toContain(`nothing listens at ${receiver.url.href}`);
  });

  test.each([
    [["--help"], 0, "herald-listen [--url URL"],
    [["--port", "http"], 2, "--port must be a whole number from 0 to 65535"],
    [["--herald", "http://127.0.0.1:9"], 2, "set HERALD_TOKEN"],
    [["--herald", "http://localhost:9/herald"], 2, "set HERALD_TOKEN"],
    [["--herald", "https://herald.example.com"], 2, "set HERALD_TOKEN"],
    ...["herald.example.com", "127.0.0.1.example.com", "localhost.example.com"].map(
      (host): [string[], number, string] => [["--herald", `http://${host}`], 2, "--herald must begin with https://"],
    ),
    [["--nonsense"], 2, "--nonsense"],
    [["--url", "localhost:3000"], 2, "--url must be a URL such as http://localhost:3000/hooks"],
    [["check", "--help"], 0, "herald-listen check --url URL"],
    [["check"], 2, "--url is missing"],
    [["--url", "http://receiver.example:3000"], 2, "--url must begin with https://, unless it is on this machine"],
    [["check", "--url", "http://10.0.0.7/"], 2, "--allow-http permits it"],
    [["check", "--url", "http://receiver.invalid/", "--allow-http"], 2, "no address is known for the host"],
    [["check", "--url", "http://127.0.0.1:9/", "--type", "Nonsense"], 2, "--type must be one of"],
  ])("herald-listen with %j ends with %i", async (options, code, text) => {
    const { child, said } = run(options);
    expect(await once(child, "close")).toEqual([code, null]);
    expect(said.text).toContain(text);
  });
});
