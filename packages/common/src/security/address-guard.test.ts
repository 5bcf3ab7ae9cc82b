import type { LookupAddress } from "node:dns";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { addressRules, createAddressGuard, isAllowedAddress } from "./address-guard.ts";

/** The networks of IANA's special-purpose registry for IPv4 and the multicast space, as first and last address. */
const NOT_PUBLIC_IPV4: [string, string][] = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["168.63.129.16", "168.63.129.16"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.31.196.0", "192.31.196.255"],
  ["192.52.193.0", "192.52.193.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["192.175.48.0", "192.175.48.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "255.255.255.255"],
];

const NOT_PUBLIC_IPV6: [string, string][] = [
  ["unspecified", "::"],
  ["loopback", "::1"],
  ["loopback with a zone", "::1%lo"],
  ["local NAT64", "64:ff9b:1::8.8.8.8"],
  ["outside of the NAT64 prefix", "64:ff9b:0:0:0:1:808:808"],
  ["Teredo of public", "2001:0:808:808::1"],
  ["Teredo of loopback", "2001:0:4136:e378:8000:63bf:80ff:fffe"],
  ["IETF protocol assignments", "2001:1::1"],
  ["benchmarking", "2001:2::1"],
  ["AMT", "2001:3::1"],
  ["AS112", "2001:4:112::1"],
  ["old ORCHID", "2001:10::1"],
  ["ORCHID", "2001:20::1"],
  ["drone ids", "2001:30::1"],
  ["documentation", "2001:db8::1"],
  ["AS112 service", "2620:4f:8000::1"],
  ["newer documentation", "3fff::1"],
  ["link-local with a zone", "fe80::1%eth0"],
];

const NO_ADDRESSES = [
  "",
  "localhost",
  "127.1",
  "2130706433",
  "0x7f000001",
  "0177.0.0.1",
  "8.8.8.8/32",
  "[::1]",
  "8.8.8.8.",
  " 8.8.8.8",
];

const allowed = (ip: string, networks = "") =>
  isAllowedAddress(ip, addressRules({ ALLOWED_PRIVATE_NETWORKS: networks }));
const toNumber = (ip: string) => ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
const toIp = (number: number) => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");

test.each(NOT_PUBLIC_IPV6)("§2.1.3 %s (%s) is not allowed", (_what, ip) => {
  expect(allowed(ip)).toBe(false);
});

test.each(NO_ADDRESSES)("%p is no address, so it is not allowed", (text) => {
  expect(allowed(text)).toBe(false);
  expect(allowed(text, "0.0.0.0/0,::/0")).toBe(false);
});

test("§2.1.3 any IPv4 address is allowed exactly if no special network holds it, in each form it can take", () => {
  const special = NOT_PUBLIC_IPV4.map(([first, last]) => [toNumber(first), toNumber(last)] as const);
  const nearBorders = fc
    .tuple(fc.constantFrom(...special.flat()), fc.integer({ min: -2, max: 2 }))
    .map(([border, offset]) => Math.min(Math.max(border + offset, 0), 2 ** 32 - 1));
  fc.assert(
    fc.property(fc.oneof(fc.nat(2 ** 32 - 1), nearBorders), (number) => {
      const ip = toIp(number);
      const sixToFour = number
        .toString(16)
        .padStart(8, "0")
        .replace(/(?=.{4}$)/, ":");
      const isPublic = !special.some(([first, last]) => first <= number && number <= last);
      // Not one "expect" each: thousands of these would take seconds.
      const forms = [ip, `::ffff:${ip}`, `64:ff9b::${ip}`, `2002:${sixToFour}::1`, `::${ip}`].map((form) =>
        allowed(form),
      );
      return forms.join() === [isPublic, isPublic, isPublic, false, false].join();
    }),
    { numRuns: 2_000 },
  );
});

test("§2.1.3 no IPv6 address outside of 2000::/3 is allowed, but for what carries an IPv4 address", () => {
  const group = fc.oneof(fc.constantFrom(0, 0xffff), fc.nat(0xffff));
  const groups = fc
    .array(group, { minLength: 8, maxLength: 8 })
    .map((all) => all.map((one) => one.toString(16)).join(":"));
  const carriesIpv4 = /^(0:0:0:0:0:ffff|64:ff9b:0:0:0:0):/;
  fc.assert(
    fc.property(groups, (ip) => {
      fc.pre(Number.parseInt(ip, 16) >> 13 !== 1 && !carriesIpv4.test(ip));
      return !allowed(ip);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ["127.0.0.1", "127.0.0.0/8", true],
  ["::ffff:127.0.0.1", "127.0.0.0/8", true],
  ["64:ff9b::7f00:1", "127.0.0.0/8", true],
  ["::1", "127.0.0.0/8", false],
  ["127.0.0.1", "::1", false],
  ["::1", "::1", true],
  ["10.9.8.7", "10.9.8.7", true],
  ["10.9.8.6", "10.9.8.7", false],
  ["168.63.129.16", "168.63.129.0/24", true],
  ["fd00:ec2::254", "fd00::/8", true],
  ["169.254.169.254", "0.0.0.0/0", true],
  ["8.8.8.8", "10.0.0.0/8", true],
  ["2001:4860:4860::8888", "", true],
  ["2606:4700:4700::1111", "", true],
  ["2a00:1450:4001::1", "", true],
])("%s with ALLOWED_PRIVATE_NETWORKS=%s: %p", (ip, networks, expected) => {
  expect(allowed(ip, networks)).toBe(expected);
});

test.each([
  // The operator's own machines may have public addresses, as in an IPv6 network of a cloud.
  ["2600:1f14:abc:de01::10", "2600:1f14:abc:de00::/56", "", false],
  ["2600:1f14:abc:df00::10", "2600:1f14:abc:de00::/56", "", true],
  ["8.8.8.8", "8.8.8.0/24", "", false],
  ["8.8.8.8", "8.8.8.8", "", false],
  ["8.8.4.4", "8.8.8.0/24", "", true],
  // In each form of the address.
  ["::ffff:8.8.8.8", "8.8.8.0/24", "", false],
  ["64:ff9b::8.8.8.8", "8.8.8.0/24", "", false],
  ["64:ff9b::8.8.8.8", "64:ff9b::/96", "", false],
  ["8.8.8.8", "64:ff9b::/96", "", true],
  // They win over what is open.
  ["10.9.8.7", "10.9.0.0/16", "10.0.0.0/8", false],
  ["10.8.8.7", "10.9.0.0/16", "10.0.0.0/8", true],
  ["10.9.8.7", "10.0.0.0/8", "10.9.8.7", false],
  ["::1", "::1", "::1", false],
  ["8.8.8.8", "0.0.0.0/0", "0.0.0.0/0", false],
  ["2606:4700:4700::1111", "0.0.0.0/0", "", true],
])("%s with DENIED_NETWORKS=%s and ALLOWED_PRIVATE_NETWORKS=%s: %p", (ip, DENIED_NETWORKS, open, expected) => {
  const rules = addressRules({ DENIED_NETWORKS, ALLOWED_PRIVATE_NETWORKS: open });
  expect(isAllowedAddress(ip, rules)).toBe(expected);
});

test.each([
  // 10.0.0.1 and 8.8.8.8 behind a prefix of each length, as RFC 6052 (2.2) puts them.
  ["2a01:4f8:a00:1::", "2a01:4f8::/32", false],
  ["2a01:4f8:808:808::", "2a01:4f8::/32", true],
  ["2a01:4f8:640a:0:1::", "2a01:4f8:6400::/40", false],
  ["2a01:4f8:6408:808:8::", "2a01:4f8:6400::/40", true],
  ["2a01:4f8:64:a00:0:100::", "2a01:4f8:64::/48", false],
  ["2a01:4f8:64:808:8:800::", "2a01:4f8:64::/48", true],
  ["2a01:4f8:64:a:0:1::", "2a01:4f8:64::/56", false],
  ["2a01:4f8:64:8:8:808::", "2a01:4f8:64::/56", true],
  ["2a01:4f8:64:0:a:0:100::", "2a01:4f8:64::/64", false],
  ["2a01:4f8:64:0:8:808:800::", "2a01:4f8:64::/64", true],
  ["2a01:4f8:64::10.0.0.1", "2a01:4f8:64::/96", false],
  ["2a01:4f8:64::8.8.8.8", "2a01:4f8:64::/96", true],
  ["2a01:4f8:64::169.254.169.254", "2a01:4f8:64::/96", false],
  // Also if the prefix itself is not public.
  ["64:ff9b:1::8.8.8.8", "64:ff9b:1::/96", true],
  ["64:ff9b:1::10.0.0.1", "64:ff9b:1::/96", false],
  ["fd00:64::8.8.8.8", "fd00:64::/96", true],
  // Outside of it an address is its own, and the well-known prefix stays known.
  ["2a01:4f8:65::10.0.0.1", "2a01:4f8:64::/96", true],
  ["64:ff9b::10.0.0.1", "2a01:4f8:64::/96", false],
  // The longer one of two that hold it.
  ["2a01:4f8:808:808::10.0.0.1", "2a01:4f8::/32,2a01:4f8:808:808::/96", false],
])("%s with NAT64_PREFIXES=%s: %p", (ip, NAT64_PREFIXES, expected) => {
  expect(isAllowedAddress(ip, addressRules({ NAT64_PREFIXES }))).toBe(expected);
});

test("a closed network closes what is behind a prefix too", () => {
  const rules = addressRules({ NAT64_PREFIXES: "2a01:4f8:64::/96", DENIED_NETWORKS: "8.8.8.0/24" });
  expect(isAllowedAddress("2a01:4f8:64::8.8.8.8", rules)).toBe(false);
  expect(isAllowedAddress("2a01:4f8:64::8.8.4.4", rules)).toBe(true);
});

test("an error lists what is wrong with each of them", () => {
  const wrong = { ALLOWED_PRIVATE_NETWORKS: "a", DENIED_NETWORKS: "b", NAT64_PREFIXES: "10.0.0.0/8" };
  expect(() => addressRules(wrong)).toThrow(
    /ALLOWED_PRIVATE[\s\S]*"a"[\s\S]*DENIED[\s\S]*"b"[\s\S]*NAT64[\s\S]*10\.0\.0\.0\/8/,
  );
});

describe("lookup of the guard", () => {
  const V4 = { address: "8.8.8.8", family: 4 };
  const V6 = { address: "2606:4700:4700::1111", family: 6 };

  function lookup(answer: LookupAddress[] | Error, hostname = "a.example", networks = "", all = true) {
    const resolve = async () => {
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const guard = createAddressGuard(addressRules({ ALLOWED_PRIVATE_NETWORKS: networks }), resolve);
    return new Promise((done, fail) => {
      guard.lookup(hostname, { all }, (error, address, family) =>
        error ? fail(error) : done(all ? address : [address, family]),
      );
    });
  }
  const BLOCKED = { code: "ERR_ADDRESS_NOT_ALLOWED", message: "address not allowed" };

  test("a look-up gives all addresses, in their order, if all are public", async () => {
    await expect(lookup([V4, V6])).resolves.toEqual([V4, V6]);
    await expect(lookup([V4, V6], "a.example", "", false)).resolves.toEqual(["8.8.8.8", 4]);
  });

  test("§2.1.3 one address that is not public blocks the name, wherever it stands", async () => {
    for (const address of ["10.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254"]) {
      const bad = { address, family: address.includes(":") ? 6 : 4 };
      await expect(lookup([bad])).rejects.toMatchObject(BLOCKED);
      await expect(lookup([V4, V6, bad])).rejects.toMatchObject(BLOCKED);
      await expect(lookup([bad, V4], "a.example", "", false)).rejects.toMatchObject(BLOCKED);
    }
  });

  test("a link-local address beside good ones is left out, and alone it blocks", async () => {
    const linkLocal = { address: "fe80::1", family: 6 };
    await expect(lookup([linkLocal, V4, V6])).resolves.toEqual([V4, V6]);
    await expect(lookup([linkLocal, { address: "10.0.0.1", family: 4 }])).rejects.toMatchObject(BLOCKED);
    await expect(lookup([linkLocal])).rejects.toMatchObject(BLOCKED);
  });

  test.each([
    [4_000, 4_000, 4, 4],
    [4_000, 0, 8, 0],
    [0, 4_000, 0, 8],
    [9, 1, 7, 1],
    [2, 9, 2, 6],
  ])(
    "regression: of %d addresses of IPv4 and %d of IPv6, %d and %d are tried, and all are judged",
    async (many4, many6, tried4, tried6) => {
      const ipv4 = Array.from({ length: many4 }, (_, index) => ({
        address: `8.8.${index >> 8}.${index & 255}`,
        family: 4,
      }));
      const ipv6 = Array.from({ length: many6 }, (_, index) => ({
        address: `2606:4700::${index.toString(16)}`,
        family: 6,
      }));
      const expected = [...ipv4.slice(0, tried4), ...ipv6.slice(0, tried6)];
      await expect(lookup([...ipv4, ...ipv6])).resolves.toEqual(expected);
      await expect(lookup([...ipv4, ...ipv6, { address: "10.0.0.1", family: 4 }])).rejects.toMatchObject(BLOCKED);
    },
  );

  test("no address at all is not an allowed one", async () => {
    await expect(lookup([])).rejects.toMatchObject(BLOCKED);
  });

  test("the resolver's own error comes through", async () => {
    const error = Object.assign(new Error("queryA ENOTFOUND a.example"), { code: "ENOTFOUND" });
    await expect(lookup(error)).rejects.toBe(error);
  });

  test.each([
    ["", null],
    ["10.0.0.0/8", null],
    ["127.0.0.0/8", ["127.0.0.1"]],
    ["::1", ["::1"]],
    ["127.0.0.0/8,::1", ["127.0.0.1", "::1"]],
  ])("localhost with ALLOWED_PRIVATE_NETWORKS=%p is %p, whatever a name server says", async (networks, addresses) => {
    for (const name of ["localhost", "LocalHost.", "hooks.localhost"]) {
      const result = lookup([V4], name, networks);
      if (addresses) await expect(result).resolves.toMatchObject(addresses.map((address) => ({ address })));
      else await expect(result).rejects.toMatchObject(BLOCKED);
    }
  });
});
