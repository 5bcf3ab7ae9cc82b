import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { Resolve } from "@herald/common/security/address-guard";
import { NO_PRIVATE_NETWORKS, parsePrivateNetworks } from "@herald/common/security/private-networks";
import { type KeyPair, makeAuthority } from "@herald/testkit/certificates/authority";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Sender } from "../../src/attempt/sender.ts";
import { type Receiver, tcpReceiver, wellBehavedReceiver } from "./receivers.ts";
import { countConnects, request, SHORT_DEADLINE_MS, sender } from "./sending.ts";

const BLOCKED = { statusCode: 503, succeeded: false, errorSummary: "address not allowed", responseExcerpt: null };

/** Hosts as they can stand in a URL; WHATWG's parser makes an address of each. */
const LITERALS = [
  "0.0.0.0",
  "0",
  "0.1.2.3",
  "10.0.0.0",
  "10.0.0.1",
  "10.255.255.255",
  "012.0.0.1",
  "0xa.1",
  "167772161",
  "100.64.0.1",
  "100.127.255.255",
  "100.100.100.200",
  "127.0.0.1",
  "127.0.0.1.",
  "127.0.0.2",
  "127.1",
  "127.0.1",
  "127.255.255.255",
  "2130706433",
  "017700000001",
  "0x7f000001",
  "0x7f.0.0.1",
  "0x7F.0x0.0x0.0x1",
  "0177.0.0.1",
  "0177.0.0.01",
  "%31%32%37.0.0.1",
  "１２７.０.０.１",
  "①②⑦.⓪.⓪.①",
  "127。0。0。1",
  "168.63.129.16",
  "2822734096",
  "0xa8.0x3f.0x81.0x10",
  "169.254.0.1",
  "169.254.169.254",
  "2852039166",
  "0xa9fea9fe",
  "0251.0376.0251.0376",
  "172.16.0.0",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.0.0.192",
  "192.0.2.1",
  "192.31.196.1",
  "192.52.193.1",
  "192.88.99.1",
  "192.168.0.1",
  "192.168.255.255",
  "192.175.48.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "4294967295",
  "[::]",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[0000:0000:0000:0000:0000:0000:0000:0001]",
  "[::127.0.0.1]",
  "[::7f00:1]",
  "[::8.8.8.8]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::FFFF:127.0.0.1]",
  "[0:0:0:0:0:ffff:7f00:1]",
  "[::ffff:10.0.0.1]",
  "[::ffff:172.16.0.1]",
  "[::ffff:192.168.0.1]",
  "[::ffff:169.254.169.254]",
  "[::ffff:168.63.129.16]",
  "[::ffff:0.0.0.0]",
  "[::ffff:100.64.0.1]",
  "[::ffff:0:127.0.0.1]",
  "[::ffff:0:8.8.8.8]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b::10.0.0.1]",
  "[64:ff9b::169.254.169.254]",
  "[64:ff9b::168.63.129.16]",
  "[64:ff9b::192.168.0.1]",
  "[64:ff9b:1::127.0.0.1]",
  "[64:ff9b:1::8.8.8.8]",
  "[100::1]",
  "[2001::1]",
  "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
  "[2001:1::1]",
  "[2001:2::1]",
  "[2001:3::1]",
  "[2001:4:112::1]",
  "[2001:10::1]",
  "[2001:20::1]",
  "[2001:30::1]",
  "[2001:db8::1]",
  "[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]",
  "[2002:7f00:1::]",
  "[2002:7f00:1::1]",
  "[2002:a00:1::1]",
  "[2002:c0a8:1::1]",
  "[2002:a9fe:a9fe::1]",
  "[2002:808:808::1]",
  "[2620:4f:8000::1]",
  "[3fff::1]",
  "[4000::1]",
  "[5f00::1]",
  "[8000::1]",
  "[fc00::1]",
  "[fd00::1]",
  "[fd00:ec2::254]",
  "[fd20:ce::254]",
  "[fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]",
  "[fe80::1]",
  "[febf::1]",
  "[fec0::1]",
  "[feff::1]",
  "[ff00::1]",
  "[ff02::1]",
  "[ff02::2]",
  "[ff05::2]",
  "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]",
];

const LOCALHOSTS = [
  "localhost",
  "LOCALHOST",
  "localhost.",
  "a.localhost",
  "a.b.localhost.",
  "%6cocalhost",
  "ｌｏｃａｌｈｏｓｔ",
  "ⓛocalhost",
];

let extraCa: string;
let tls: KeyPair;
/** Listens on all of this machine's addresses: whatever slips through ends up here. */
let trap: Receiver;
/** One for all, as making one reads all the roots. */
let sending: Sender;
let answer: LookupAddress[];
let asked: string[];

const resolve: Resolve = async (name) => {
  asked.push(name);
  return answer;
};

beforeAll(async () => {
  const authority = await makeAuthority("Test authority");
  extraCa = authority.cert;
  tls = await authority.issue({ names: ["receiver.test"] });
  trap = await tcpReceiver((socket) => socket.resume(), "::");
  sending = sender({ deadlineMs: SHORT_DEADLINE_MS, allowedPrivateNetworks: NO_PRIVATE_NETWORKS, resolve });
});

beforeEach(() => {
  answer = [];
  asked = [];
});

afterAll(async () => {
  await sending.close();
  await trap.close();
});

const inDns = (...addresses: string[]): LookupAddress[] =>
  addresses.map((address) => ({ address, family: isIP(address) }));

async function expectBlocked(host: string) {
  const connects = await countConnects(async () => {
    expect(await sending.send(request({ url: `https://${host}:${trap.port}/` }))).toMatchObject(BLOCKED);
  });
  expect(connects).toBe(0);
  expect(trap.accepted()).toBe(0);
}

async function expectNameBlocked(...addresses: string[]) {
  answer = inDns(...addresses);
  await expectBlocked("receiver.test");
}

describe("by literal", () => {
  test.each(LITERALS)("§2.1.3 %s reaches no socket", async (host) => {
    await expectBlocked(host);
    expect(asked).toEqual([]);
  });
});

describe("by name", () => {
  const addresses = [...new Set(LITERALS.map((host) => new URL(`https://${host}`).hostname.replace(/[[\]]/g, "")))];

  test.each(addresses)("§2.1.3 a name that resolves to %s reaches no socket", async (address) => {
    await expectNameBlocked(address);
    expect(asked).toEqual(["receiver.test"]);
  });

  test.each(LOCALHOSTS)("§2.1.3 %s reaches no socket, and no name server", async (host) => {
    await expectBlocked(host);
    expect(asked).toEqual([]);
  });

  test("§2.1.3 one address that is not public among public ones blocks the name", async () => {
    for (const bad of ["127.0.0.1", "::1", "10.0.0.1"]) {
      await expectNameBlocked("8.8.8.8", bad);
      await expectNameBlocked(bad, "2606:4700:4700::1111");
    }
  });

  test("§2.1.3 a name without addresses reaches no socket", async () => {
    await expectNameBlocked();
  });
});

describe("by rebinding", () => {
  // The open address stands for a public one: tests send nothing off this machine.
  const allowedPrivateNetworks = parsePrivateNetworks("127.0.0.1");

  test("§2.1.3 a name that turns private between attempts is blocked at the next connection", async () => {
    const receiver = await wellBehavedReceiver(tls, (_request, response) =>
      response.writeHead(200, { connection: "close" }).end(),
    );
    const onOtherAddress = await tcpReceiver((socket) => socket.resume(), "127.0.0.2", receiver.port);
    const answers = ["127.0.0.1", "127.0.0.2", "::1", "10.0.0.1", "127.0.0.1"];
    const resolve: Resolve = async () => inDns(answers.shift() as string);
    const sending = sender({ extraCa, allowedPrivateNetworks, resolve });
    const send = () => sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));

    expect(await send()).toMatchObject({ statusCode: 200 });
    const connects = await countConnects(async () => {
      for (let i = 0; i < 3; i++) expect(await send()).toMatchObject(BLOCKED);
    });
    expect(connects).toBe(0);
    expect(await send()).toMatchObject({ statusCode: 200 });

    expect(onOtherAddress.accepted()).toBe(0);
    await sending.close();
    await receiver.close();
    await onOtherAddress.close();
  });

  test("§2.1.3 a connection goes to the very address that was checked: the name is asked for once", async () => {
    const receiver = await wellBehavedReceiver(tls);
    const asked: string[] = [];
    const resolve: Resolve = async (name) => {
      asked.push(name);
      return inDns(asked.length === 1 ? "127.0.0.1" : "127.0.0.2");
    };
    const sending = sender({ extraCa, allowedPrivateNetworks, resolve });
    const send = () => sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));
    const connects = await countConnects(async () => {
      expect(await send()).toMatchObject({ statusCode: 200 });
      expect(await send()).toMatchObject({ statusCode: 200 });
    });
    expect(connects).toBe(1);
    expect(asked).toEqual(["receiver.test"]);
    await sending.close();
    await receiver.close();
  });
});

describe("by URL", () => {
  test.each([
    "http://receiver.test/",
    "http://127.0.0.1/",
    "ftp://receiver.test/",
    "unix:/var/run/docker.sock:/",
    "https://user:password@receiver.test/",
    "//receiver.test/",
    "receiver.test",
    "",
    "https://",
    "https://[::1/",
  ])("§2.1.1 %p is not sent to", async (url) => {
    const connects = await countConnects(async () => {
      const errorSummary = "endpoint URL is not a plain https URL";
      expect(await sending.send(request({ url }))).toMatchObject({ statusCode: 503, succeeded: false, errorSummary });
    });
    expect(connects).toBe(0);
  });

  // got has a notation of its own for them.
  test("§2.1.1 socket files are not sent to", async () => {
    answer = inDns("127.0.0.1");
    expect(await sending.send(request({ url: "https://unix:/var/run/docker.sock:/" }))).toMatchObject({
      statusCode: 503,
    });
    expect(await sending.send(request({ url: "https://unix/var/run/docker.sock:/" }))).toMatchObject({
      statusCode: 503,
    });
  });
});

test("§2.1.3 no address that is not public reaches a socket, by literal or by name", async () => {
  const octet = fc.nat(255);
  const ipv4 = fc.oneof(
    fc.tuple(fc.constantFrom(0, 10, 127, 224, 239, 240, 255), octet, octet, octet),
    fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
    fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), octet, octet),
    fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
    fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), octet, octet),
  );
  const dotted = ipv4.map((parts) => parts.join("."));
  const group = fc.nat(0xffff).map((number) => number.toString(16));
  const ipv6 = fc
    .tuple(fc.constantFrom("0", "100", "fc00", "fdab", "fe80", "fec0", "ff02", "2002", "2001:db8"), group, group, group)
    .map(([head, ...groups]) => `${head}::${groups.join(":")}`);
  const address = fc.oneof(
    dotted,
    dotted.map((ip) => `::ffff:${ip}`),
    dotted.map((ip) => `64:ff9b::${ip}`),
    ipv6,
  );
  await fc.assert(
    fc.asyncProperty(address, async (ip) => {
      await expectBlocked(isIP(ip) === 6 ? `[${ip}]` : ip);
      await expectNameBlocked(ip);
    }),
    { numRuns: 300 },
  );
});
