import { describe, expect, test } from "@jest/globals";
import { parseNat64Prefixes, parseNetworks } from "./networks.ts";

const written = (text: string, parse = parseNetworks) =>
  parse("NETWORKS", text).map(([network, bits]) => `${network}/${bits}`);

describe("a setting that lists networks", () => {
  test.each([
    ["", []],
    [" , ", []],
    ["127.0.0.0/8, ::1/128", ["127.0.0.0/8", "::1/128"]],
    ["10.0.0.0/8,192.168.1.7", ["10.0.0.0/8", "192.168.1.7/32"]],
    ["::1", ["::1/128"]],
    ["fd00::/8", ["fd00::/8"]],
    ["0.0.0.0/0,::/0", ["0.0.0.0/0", "::/0"]],
  ])("the setting %p means the networks %p", (text, networks) => {
    expect(written(text)).toEqual(networks);
  });

  test.each([
    ["localhost", '"localhost" is not a network'],
    ["10", '"10" is not a network'],
    ["10.0.0.0/33", '"10.0.0.0/33" is not a network'],
    ["10/8", '"10/8" is not a network'],
    ["0x7f.1", '"0x7f.1" is not a network'],
    ["::1/129", '"::1/129" is not a network'],
    ["10.0.0.0/8;127.0.0.0/8", "is not a network"],
    ["10.1.2.3/8", "write 10.0.0.0/8 for the network, or 10.1.2.3 for the address"],
    ["fd00::1/8", "write fd00::/8 for the network, or fd00::1 for the address"],
  ])("%p is refused with what to write instead", (text, problem) => {
    expect(() => parseNetworks("NETWORKS", text)).toThrow(problem);
  });

  test("an error lists every bad network at once", () => {
    expect(() => parseNetworks("NETWORKS", "a,10.0.0.0/8,b")).toThrow(/^NETWORKS: "a".*; "b"/);
  });
});

describe("a setting that lists NAT64 prefixes", () => {
  test("the longest prefix comes first", () => {
    const prefixes = "2001:db8::/32, 2001:db8:1:2::/96,2001:db8:1::/48";
    expect(written(prefixes, parseNat64Prefixes)).toEqual(["2001:db8:1:2::/96", "2001:db8:1::/48", "2001:db8::/32"]);
  });

  test.each(["10.0.0.0/8", "2001:db8::/33", "2001:db8::1"])("%s is no prefix of a NAT64", (text) => {
    expect(() => parseNat64Prefixes("PREFIXES", text)).toThrow(/^PREFIXES: .* is no NAT64 prefix/);
  });
});
