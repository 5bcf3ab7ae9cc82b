import { describe, expect, test } from "@jest/globals";
import { parsePrivateNetworks } from "./private-networks.ts";

const written = (text: string) => parsePrivateNetworks(text).map(([network, bits]) => `${network}/${bits}`);

describe("setting ALLOWED_PRIVATE_NETWORKS", () => {
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
    expect(() => parsePrivateNetworks(text)).toThrow(problem);
  });

  test("an error lists every bad network at once", () => {
    expect(() => parsePrivateNetworks("a,10.0.0.0/8,b")).toThrow(/^ALLOWED_PRIVATE_NETWORKS: "a".*; "b"/);
  });
});
