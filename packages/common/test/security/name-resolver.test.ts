import { eventually } from "@herald/dev/harness/eventually";
import { type NameAnswer, type NameServer, nameServer } from "@herald/dev/harness/name-server";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createNameResolver, type NameResolverOptions } from "../../src/security/name-resolver.ts";

/** The server's answers to "A name" and "AAAA name". */
let zone: Record<string, NameAnswer>;
let server: NameServer;
let nowMs: number;

beforeEach(async () => {
  zone = {};
  nowMs = 0;
  server = await nameServer((name, kind) => zone[`${kind} ${name}`] ?? "unknown");
});
afterEach(() => server.close());

function resolver(options: NameResolverOptions = {}) {
  return createNameResolver({ servers: [server.address], nowMs: () => nowMs, ...options });
}

const V4 = { address: "8.8.8.8", family: 4 };
const V6 = { address: "2606:4700:4700::1111", family: 6 };
const NONE: NameAnswer = [];

test("a name resolves to all addresses of both families, IPv4 first", async () => {
  zone = { "A a.example": [V4.address, "1.1.1.1"], "AAAA a.example": [V6.address] };
  await expect(resolver()("a.example")).resolves.toEqual([V4, { address: "1.1.1.1", family: 4 }, V6]);
});

test.each<[string, NameAnswer, NameAnswer, object[]]>([
  ["only IPv4", [V4.address], NONE, [V4]],
  ["only IPv6", NONE, [V6.address], [V6]],
  ["IPv4 where the question for IPv6 fails", [V4.address], "failed", [V4]],
  ["IPv4 where a broken server denies the name for IPv6", [V4.address], "unknown", [V4]],
  ["IPv4, and does not wait for IPv6, where no answer for IPv6 comes", [V4.address], "silence", [V4]],
  ["IPv6, after it waited for IPv4, where no answer for IPv4 comes", "silence", [V6.address], [V6]],
])("a look-up gives %s", async (_title, ipv4, ipv6, addresses) => {
  zone = { "A a.example": ipv4, "AAAA a.example": ipv6 };
  // Silence for IPv6 would take ten hours; that for IPv4 does take its time.
  const timeoutMs = ipv4 === "silence" ? 20 : 12_000_000;
  await expect(resolver({ timeoutMs })("a.example")).resolves.toEqual(addresses);
});

test.each<[string, NameAnswer, NameAnswer, string]>([
  ["there is no such name", "unknown", "unknown", "ENOTFOUND"],
  ["the name has no address", NONE, NONE, "ENODATA"],
  ["the servers fail", "failed", "failed", "ESERVFAIL"],
  ["one server fails and the other has nothing", NONE, "failed", "ESERVFAIL"],
])("a look-up rejects where %s", async (_title, ipv4, ipv6, code) => {
  zone = { "A a.example": ipv4, "AAAA a.example": ipv6 };
  await expect(resolver()("a.example")).rejects.toMatchObject({ code });
});

test.each<[string, NameAnswer, string]>([
  ["says that it does not exist", "unknown", "ETIMEOUT"],
  ["can't find it out", "failed", "ETIMEOUT"],
  ["is silent too", "silence", "ERR_NAME_SERVERS_SILENT"],
])("if a server is silent about a name, and about another one %s, the code is %p", async (_title, other, code) => {
  server.answerWith((name) => (name === "silent.example" ? "silence" : other));
  await expect(resolver({ timeoutMs: 300 })("silent.example")).rejects.toMatchObject({ code });
});

test("if no server is there, the code says that all are silent", async () => {
  await server.die();
  await expect(resolver()("a.example")).rejects.toMatchObject({ code: "ERR_NAME_SERVERS_SILENT" });
});

test("regression: a server that was silent was silent also if it answers a moment after the look-up has failed", async () => {
  server.answerWith("silence");
  const failing = resolver({ timeoutMs: 1_500 })("a.example").catch((error) => {
    server.answerWith("unknown");
    throw error;
  });
  await expect(failing).rejects.toMatchObject({ code: "ERR_NAME_SERVERS_SILENT" });
});

/** A resolver whose server has answered at once so far. */
async function usedResolver() {
  for (let index = 0; index < 25; index++) zone[`A quick${index}.example`] = [V4.address];
  const resolve = resolver();
  for (let index = 0; index < 25; index++) await resolve(`quick${index}.example`);
  return resolve;
}

// c-ares takes no answer that is later than its timeout, and asks again: then it is chance whether it waits for the next one.
test("regression: 20 answers of 20 that take 3 s each are waited for, also from a server that has answered at once so far", async () => {
  const resolve = await usedResolver();
  server.answerWith((_name, kind) => ({ afterMs: 3_000, addresses: kind === "A" ? [V4.address] : [] }));
  const names = Array.from({ length: 20 }, (_, index) => `slow${index}.example`);
  expect(await Promise.all(names.map((name) => resolve(name)))).toEqual(names.map(() => [V4]));
});

test.each(["dns.example", "fe80::1%eth0", "[fe80::1%eth0]:53"])("the server %s is refused at once", (server) => {
  expect(() => resolver({ servers: ["127.0.0.1", server] })).toThrow(server);
});

test("a server that never answers is given up, and delays no other name", async () => {
  zone = { "A b.example": [V4.address], "AAAA b.example": NONE };
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
  zone = { "A a.example": [V4.address], "AAAA a.example": NONE };
  const resolve = resolver();
  await Promise.all([resolve("a.example"), resolve("A.Example"), resolve("a.example.")]);
  nowMs = 4_999;
  await resolve("a.example");
  expect(server.questions).toHaveLength(2);
  zone["A a.example"] = ["1.1.1.1"];
  nowMs = 5_000;
  await expect(resolve("a.example")).resolves.toEqual([{ address: "1.1.1.1", family: 4 }]);
  expect(server.questions).toHaveLength(4);
});

test("a question that was put during an outage and fails after it is no answer to who came after the outage", async () => {
  zone = { "A a.example": "silence", "AAAA a.example": "silence" };
  const resolve = resolver({ timeoutMs: 300 });
  const during = resolve("a.example");
  const late = expect(during).rejects.toMatchObject({ code: "ETIMEOUT" });
  // Both questions, each a second time: nothing more is asked for the first look-up.
  const asked = () => server.questions.filter((question) => question.endsWith("a.example"));
  await eventually(() => expect(asked()).toHaveLength(4));
  zone = { "A a.example": [V4.address], "AAAA a.example": NONE };
  await expect(Promise.all([resolve("a.example"), resolve("a.example")])).resolves.toEqual([[V4], [V4]]);
  await late;
});

test("an answer that turned out to be of no use is forgotten", async () => {
  zone = { "A a.example": [V4.address] };
  const resolve = resolver();
  await resolve("a.example");
  zone["A a.example"] = ["1.1.1.1"];
  resolve.forget("A.example.");
  await expect(resolve("a.example")).resolves.toEqual([{ address: "1.1.1.1", family: 4 }]);
});

test.each<[NameAnswer, string]>([
  ["failed", "ESERVFAIL"],
  ["refused", "EREFUSED"],
])(
  "regression: a name server that says %p once is asked again, except by a resolver of one try",
  async (answer, code) => {
    const failOnce = () => {
      let first = true;
      server.answerWith((_name, kind) => {
        if (kind === "AAAA") return NONE;
        const now = first ? answer : [V4.address];
        first = false;
        return now;
      });
    };
    failOnce();
    await expect(resolver()("a.example")).resolves.toEqual([V4]);
    failOnce();
    await expect(resolver({ tries: 1 })("a.example")).rejects.toMatchObject({ code });
  },
);

test("a failure is not kept", async () => {
  const resolve = resolver();
  await expect(resolve("a.example")).rejects.toMatchObject({ code: "ENOTFOUND" });
  zone = { "A a.example": [V4.address] };
  await expect(resolve("a.example")).resolves.toEqual([V4]);
});

test("localhost is the machine itself, whatever name servers say", async () => {
  zone = { "A localhost": [V4.address] };
  await expect(resolver()("localhost")).resolves.toEqual([
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ]);
  expect(server.questions).toEqual([]);
});
