import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createNameResolver, type NameResolverOptions } from "../../src/security/name-resolver.ts";

type Answer = "none" | "unknown" | "failure" | "silence" | string[];

/** A name server on loopback, with what it answers to `A name` and `AAAA name`. */
let server: Socket;
let zone: Record<string, Answer>;
let asked: string[];
let nowMs: number;

beforeEach(async () => {
  zone = {};
  asked = [];
  nowMs = 0;
  server = createSocket("udp4");
  server.on("message", (question, { address, port }) => {
    const reply = replyTo(question);
    if (reply) server.send(reply, port, address);
  });
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(async () => {
  const closed = once(server, "close");
  server.close();
  await closed;
});

function resolver(options: NameResolverOptions = {}) {
  const { port } = server.address() as AddressInfo;
  return createNameResolver({ servers: [`127.0.0.1:${port}`], hosts: () => "", nowMs: () => nowMs, ...options });
}

/** RFC 1035, as little of it as one question and its answers take. */
function replyTo(question: Buffer): Buffer | null {
  const labels: string[] = [];
  let at = 12;
  while (question[at] !== 0) {
    const length = question[at] as number;
    labels.push(question.subarray(at + 1, at + 1 + length).toString());
    at += length + 1;
  }
  const end = at + 5;
  const kind = question.readUInt16BE(at + 1) === 28 ? "AAAA" : "A";
  const key = `${kind} ${labels.join(".")}`;
  asked.push(key);
  const answer = zone[key] ?? "unknown";
  if (answer === "silence") return null;
  const code = { none: 0, unknown: 3, failure: 2 }[answer as string] ?? 0;
  const records = (Array.isArray(answer) ? answer : []).map((address) => {
    const data = Buffer.from(address, "hex");
    const head = Buffer.from("c00c0000000100000e100000", "hex");
    head.writeUInt16BE(kind === "A" ? 1 : 28, 2);
    head.writeUInt16BE(data.length, 10);
    return Buffer.concat([head, data]);
  });
  const header = Buffer.from([
    question[0] as number,
    question[1] as number,
    0x81,
    0x80 | code,
    0,
    1,
    0,
    records.length,
    0,
    0,
    0,
    0,
  ]);
  return Buffer.concat([header, question.subarray(12, end), ...records]);
}

const V4 = { address: "8.8.8.8", family: 4 };
const V6 = { address: "2606:4700:4700::1111", family: 6 };
const V4_HEX = "08080808";
const V6_HEX = "26064700470000000000000000001111";

describe("name resolver", () => {
  test("a name resolves to all addresses of both families, IPv4 first", async () => {
    zone = { "A a.example": [V4_HEX, "01010101"], "AAAA a.example": [V6_HEX] };
    await expect(resolver()("a.example")).resolves.toEqual([V4, { address: "1.1.1.1", family: 4 }, V6]);
  });

  test.each<[string, Answer, Answer, object[]]>([
    ["only IPv4", [V4_HEX], "none", [V4]],
    ["only IPv6", "none", [V6_HEX], [V6]],
    ["IPv4 where the question for IPv6 fails", [V4_HEX], "failure", [V4]],
    ["IPv4 where a broken server denies the name for IPv6", [V4_HEX], "unknown", [V4]],
  ])("a look-up gives %s", async (_title, ipv4, ipv6, addresses) => {
    zone = { "A a.example": ipv4, "AAAA a.example": ipv6 };
    await expect(resolver()("a.example")).resolves.toEqual(addresses);
  });

  test.each<[string, Answer, Answer, string]>([
    ["there is no such name", "unknown", "unknown", "ENOTFOUND"],
    ["the name has no address", "none", "none", "ENODATA"],
    ["the servers fail", "failure", "failure", "ESERVFAIL"],
    ["one server fails and the other has nothing", "none", "failure", "ESERVFAIL"],
  ])("a look-up rejects where %s", async (_title, ipv4, ipv6, code) => {
    zone = { "A a.example": ipv4, "AAAA a.example": ipv6 };
    await expect(resolver()("a.example")).rejects.toMatchObject({ code });
  });

  test("a server that never answers is given up, and delays no other name", async () => {
    zone = { "A b.example": [V4_HEX], "AAAA b.example": "none" };
    for (let i = 0; i < 32; i++) zone[`A dead${i}.example`] = zone[`AAAA dead${i}.example`] = "silence";
    const resolve = resolver({ timeoutMs: 2_000 });
    const dead = Array.from({ length: 32 }, (_, i) => resolve(`dead${i}.example`));
    let givenUp = false;
    const ended = Promise.all(dead.map((lookup) => expect(lookup).rejects.toMatchObject({ code: "ETIMEOUT" })));
    void ended.then(() => {
      givenUp = true;
    });
    await expect(resolve("b.example")).resolves.toEqual([V4]);
    expect(givenUp).toBe(false);
    await ended;
  });

  test("one question serves all look-ups that wait, and its answer is kept for five seconds", async () => {
    zone = { "A a.example": [V4_HEX], "AAAA a.example": "none" };
    const resolve = resolver();
    await Promise.all([resolve("a.example"), resolve("A.Example"), resolve("a.example.")]);
    nowMs = 4_999;
    await resolve("a.example");
    expect(asked).toHaveLength(2);
    zone["A a.example"] = ["01010101"];
    nowMs = 5_000;
    await expect(resolve("a.example")).resolves.toEqual([{ address: "1.1.1.1", family: 4 }]);
    expect(asked).toHaveLength(4);
  });

  test("a failure is not kept", async () => {
    const resolve = resolver();
    await expect(resolve("a.example")).rejects.toMatchObject({ code: "ENOTFOUND" });
    zone = { "A a.example": [V4_HEX] };
    await expect(resolve("a.example")).resolves.toEqual([V4]);
  });

  test("the hosts file wins, and is read again after a minute", async () => {
    zone = { "A a.example": [V4_HEX] };
    let hosts = "# none\n10.0.0.1\tA.example b.example # two names\n::1 a.example\nnonsense a.example\n";
    const resolve = resolver({ hosts: () => hosts });
    await expect(resolve("a.example")).resolves.toEqual([
      { address: "10.0.0.1", family: 4 },
      { address: "::1", family: 6 },
    ]);
    expect(asked).toEqual([]);
    hosts = "";
    nowMs = 60_000;
    await expect(resolve("a.example")).resolves.toEqual([V4]);
  });

  test("the system's own settings are used", async () => {
    const resolve = createNameResolver();
    await expect(resolve("localhost")).resolves.toContainEqual({ address: "127.0.0.1", family: 4 });
  });
});
