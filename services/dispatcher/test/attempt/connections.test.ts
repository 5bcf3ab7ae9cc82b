import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type Agent, get } from "node:https";
import { addressRules, createAddressGuard } from "@herald/common/security/address-guard";
import { makeAuthority } from "@herald/dev/certificates/authority";
import { eventually } from "@herald/dev/harness/eventually";
import { afterEach, describe, expect, test } from "@jest/globals";
import { type Connections, createConnections } from "../../src/attempt/connections.ts";
import { type Receiver, wellBehavedReceiver } from "./receivers.ts";
import { extraCa, tls, toLoopback } from "./sending.ts";

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
    connections = createConnections(guard, extraCa, { most: 2 });
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
    connections = createConnections(guard, extraCa, { most: 20 });
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
    connections = createConnections(guard, extraCa, { most: 2 });
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
    connections = createConnections(guard, extraCa);
    await visit(receiver, connections.fresh);
    await eventually(() => expect(receiver.open()).toBe(0));
  });
});

describe("trust", () => {
  // Node's default is NODE_TLS_REJECT_UNAUTHORIZED.
  test("no environment variable can switch the check of certificates off", () => {
    connections = createConnections(guard, extraCa);
    expect(connections.reused.options.rejectUnauthorized).toBe(true);
    expect(connections.fresh.options.rejectUnauthorized).toBe(true);
  });

  test("several extra authorities can be in one file", async () => {
    const other = await makeAuthority("Another authority");
    receivers = [await wellBehavedReceiver(tls)];
    connections = createConnections(guard, `${other.cert}\n${extraCa}`);
    await visit((receivers as [Receiver])[0], connections.reused);
  });

  test("a file of authorities without certificates is refused at the start", () => {
    expect(() => createConnections(guard, "no certificate")).toThrow("EXTRA_CA_FILE");
  });
});
