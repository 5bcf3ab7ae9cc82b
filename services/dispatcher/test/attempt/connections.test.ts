import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { type Agent, get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { addressRules, createAddressGuard } from "@herald/common/security/address-guard";
import { makeAuthority } from "@herald/dev/certificates/authority";
import { eventually } from "@herald/dev/harness/eventually";
import { afterAll, afterEach, describe, expect, test } from "@jest/globals";
import { type Connections, createConnections } from "../../src/http/connections.ts";
import { type Receiver, wellBehavedReceiver } from "./receivers.ts";
import { authoritiesIn, extraAuthorities, request, SHORT_DEADLINE_MS, sender, tls, toLoopback } from "./sending.ts";

const guard = createAddressGuard(addressRules({ ALLOWED_PRIVATE_NETWORKS: "127.0.0.1" }), toLoopback);
let receivers: Receiver[] = [];
let connections: Connections | undefined;

afterEach(async () => {
  connections?.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
  receivers = [];
});

async function visit(receiver: Receiver, agent: Agent): Promise<void> {
  const request = get({ host: "receiver.test", port: receiver.port, agent });
  const [response] = await once(request, "response");
  response.resume();
  await once(request, "close");
}

const idleOf = ({ freeSockets }: Agent) => Object.values(freeSockets).flatMap((sockets = []) => sockets);

describe("idle connections", () => {
  test("for one too many, the one that is idle longest is closed", async () => {
    receivers = await Promise.all([1, 2, 3].map(() => wellBehavedReceiver(tls)));
    const [a, b, c] = receivers as [Receiver, Receiver, Receiver];
    connections = createConnections(guard, extraAuthorities, { most: 2 });
    for (const receiver of [a, b, a, c]) await visit(receiver, connections.reused);
    await eventually(() => expect(b.open()).toBe(0));
    expect([a.open(), c.open()]).toEqual([1, 1]);
    expect([a.accepted(), b.accepted(), c.accepted()]).toEqual([1, 1, 1]);
  });

  test("many new ones at once close as many idle ones", async () => {
    const held: ServerResponse[] = [];
    const holding = await wellBehavedReceiver(tls, (_request, response) => {
      held.push(response);
      if (held.length === 20) for (const each of held) each.end();
    });
    const others = await Promise.all(Array.from({ length: 20 }, () => wellBehavedReceiver(tls)));
    receivers = [holding, ...others];
    connections = createConnections(guard, extraAuthorities, { most: 20 });
    const { reused } = connections;
    await Promise.all(Array.from({ length: 20 }, () => visit(holding, reused)));
    expect(holding.open()).toBe(20);
    await Promise.all(others.map((receiver) => visit(receiver, reused)));
    expect(idleOf(reused).filter(({ destroyed }) => !destroyed)).toHaveLength(20);
    await eventually(() => expect(holding.open()).toBe(0));
    expect(others.map((receiver) => receiver.open())).toEqual(others.map(() => 1));
  });

  test("one that a receiver closed does not count", async () => {
    receivers = await Promise.all([1, 2, 3].map(() => wellBehavedReceiver(tls)));
    const [a, b, c] = receivers as [Receiver, Receiver, Receiver];
    connections = createConnections(guard, extraAuthorities, { most: 2 });
    await visit(b, connections.reused);
    await visit(a, connections.reused);
    await a.close();
    receivers = [b, c];
    await eventually(() => expect(Object.keys(connections?.reused.freeSockets ?? {}).length).toBe(1));
    await visit(c, connections.reused);
    expect(idleOf(connections.reused).map(({ destroyed }) => destroyed)).toEqual([false, false]);
  });

  test("a fresh request leaves no idle connection", async () => {
    receivers = [await wellBehavedReceiver(tls)];
    const [receiver] = receivers as [Receiver];
    connections = createConnections(guard, extraAuthorities);
    await visit(receiver, connections.fresh);
    await eventually(() => expect(receiver.open()).toBe(0));
  });
});

/** Visits a receiver, in a process of its own: Node reads NODE_EXTRA_CA_CERTS at its start. */
const VISIT = `
import { get } from "node:https";
import { addressRules, createAddressGuard } from "@herald/common/security/address-guard";
import { authoritiesOf } from "@herald/common/security/tls-files";
import { createConnections } from "./dist/http/connections.js";
const [port, extra] = process.argv.slice(1);
const rules = addressRules({ ALLOWED_PRIVATE_NETWORKS: "127.0.0.1" });
const guard = createAddressGuard(rules, async () => [{ address: "127.0.0.1", family: 4 }]);
const { fresh } = createConnections(guard, authoritiesOf("EXTRA_CA_FILE", extra));
get({ host: "receiver.test", port, agent: fresh }, ({ statusCode }) => process.stdout.write(String(statusCode)))
  .on("error", ({ code }) => process.stdout.write(code));
`;
const UNKNOWN = "UNABLE_TO_VERIFY_LEAF_SIGNATURE";
const dispatcher = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "herald-trust-"));
afterAll(() => rmSync(folder, { recursive: true }));

// Node's default is NODE_TLS_REJECT_UNAUTHORIZED.
test("no environment variable can switch the check of certificates off", () => {
  connections = createConnections(guard, extraAuthorities);
  expect(connections.reused.options.rejectUnauthorized).toBe(true);
  expect(connections.fresh.options.rejectUnauthorized).toBe(true);
});

test("a file of authorities that changes decides about new connections, and no session outlives its authority", async () => {
  const other = await makeAuthority("Another authority");
  const own = await wellBehavedReceiver(tls);
  const others = await wellBehavedReceiver(await other.issue({ names: ["receiver.test"] }));
  receivers = [own, others];
  let nowMs = 0;
  const authorities = authoritiesIn(extraAuthorities.current().ca ?? "", () => nowMs);
  connections = createConnections(guard, authorities);
  const { reused } = connections;
  await visit(own, reused);
  await expect(visit(others, reused)).rejects.toMatchObject({ code: UNKNOWN });
  authorities.write(other.cert);
  nowMs = 60_000;
  await eventually(() => visit(others, reused));
  // The connection that was open is used on; a new one would have a session of the authority that went.
  await visit(own, reused);
  for (const socket of idleOf(reused)) socket.destroy();
  await eventually(() => expect(idleOf(reused)).toEqual([]));
  await expect(visit(own, reused)).rejects.toMatchObject({ code: UNKNOWN });
});

test("regression: EXTRA_CA_FILE takes nothing away from what Node trusts, as NODE_EXTRA_CA_CERTS", async () => {
  const company = await makeAuthority("Company");
  receivers = [await wellBehavedReceiver(await company.issue({ names: ["receiver.test"] }))];
  const [receiver] = receivers as [Receiver];
  const NODE_EXTRA_CA_CERTS = join(folder, "company.pem");
  writeFileSync(NODE_EXTRA_CA_CERTS, company.cert);
  const EXTRA_CA_FILE = join(folder, "extra.pem");
  writeFileSync(EXTRA_CA_FILE, extraAuthorities.current().ca ?? "");
  for (const extra of [undefined, EXTRA_CA_FILE]) {
    const args = ["--input-type=module", "--eval", VISIT, String(receiver.port), ...(extra ? [extra] : [])];
    const environment = { ...process.env, NODE_EXTRA_CA_CERTS };
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: dispatcher, env: environment });
    expect(stdout).toBe("200");
  }
});

/** Requests that have come; whether the answer may go; answers that have gone. */
const [RECEIVED, MAY_ANSWER, ANSWERED] = [0, 1, 2];

/** A receiver in a thread of its own, which goes on while this one is busy. */
const RECEIVER = `
  const { parentPort, workerData: { state, tls } } = require("node:worker_threads");
  const server = require("node:https").createServer(tls, (request, response) => {
    request.resume().on("end", () => {
      Atomics.add(state, ${RECEIVED}, 1);
      const answer = () => {
        if (Atomics.load(state, ${MAY_ANSWER}) === 0) return setTimeout(answer, 1);
        response.end(() => Atomics.add(state, ${ANSWERED}, 1));
      };
      answer();
    });
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

test("regression: an answer that has come is an answer, though this process was too busy to read it until the time was up", async () => {
  const state = new Int32Array(new SharedArrayBuffer(12));
  const worker = new Worker(RECEIVER, { eval: true, workerData: { state, tls } });
  const sending = sender({ extraAuthorities, deadlineMs: SHORT_DEADLINE_MS });
  try {
    const [port] = await once(worker, "message");
    const url = `https://receiver.test:${port}/`;
    // Its connection serves the next request.
    Atomics.store(state, MAY_ANSWER, 1);
    let warm = await sending.send(request({ url }));
    while (!warm.succeeded) warm = await sending.send(request({ url }));

    Atomics.store(state, MAY_ANSWER, 0);
    const before = [RECEIVED, ANSWERED].map((count) => Atomics.load(state, count)) as [number, number];
    const begun = performance.now();
    const result = sending.send(request({ url }));
    while (Atomics.load(state, RECEIVED) === before[0]) await nextTurn();
    Atomics.store(state, MAY_ANSWER, 1);
    while (Atomics.load(state, ANSWERED) === before[1] || performance.now() - begun < 2 * SHORT_DEADLINE_MS);
    expect(await result).toMatchObject({ succeeded: true, statusCode: 200 });
  } finally {
    await sending.close();
    await worker.terminate();
  }
});
