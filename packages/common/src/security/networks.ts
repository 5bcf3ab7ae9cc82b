import ipaddr from "ipaddr.js";

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** Parsed once, at start. */
export type Networks = readonly (readonly [IpAddress, number])[];

/** Reads a list of networks in CIDR form, or single addresses. @throws Error that lists every entry that is none, and what was probably meant */
export function parseNetworks(setting: string, text: string): Networks {
  const networks: [IpAddress, number][] = [];
  const problems: string[] = [];
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const network = parseNetwork(entry);
    if (typeof network === "string") problems.push(network);
    else networks.push(network);
  }
  if (problems.length > 0) throw new Error(`${setting}: ${problems.join("; ")}`);
  return networks;
}

/** The lengths that a NAT64 prefix can have (RFC 6052, section 2.2). */
const NAT64_BITS = [32, 40, 48, 56, 64, 96];

/** Reads a setting that lists NAT64 prefixes, and puts the longest first. @throws Error as parseNetworks, also for a prefix that no NAT64 has */
export function parseNat64Prefixes(setting: string, text: string): Networks {
  const prefixes = parseNetworks(setting, text);
  const wrong = prefixes.filter(([network, bits]) => network.kind() !== "ipv6" || !NAT64_BITS.includes(bits));
  if (wrong.length > 0) {
    const shown = wrong.map(([network, bits]) => `${network}/${bits}`).join(", ");
    throw new Error(`${setting}: ${shown} is no NAT64 prefix, which is IPv6 and ${NAT64_BITS.join(", ")} bits long`);
  }
  return [...prefixes].sort(([, a], [, b]) => b - a);
}

export function contains(networks: Networks, address: IpAddress): boolean {
  return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

function parseNetwork(entry: string): [IpAddress, number] | string {
  if (isDottedQuadOrIpv6(entry)) {
    const address = ipaddr.parse(entry);
    return [address, address.kind() === "ipv4" ? 32 : 128];
  }
  if (!ipaddr.isValidCIDR(entry) || !isDottedQuadOrIpv6(entry.slice(0, entry.indexOf("/")))) {
    return `"${entry}" is not a network such as 10.0.0.0/8, ::1/128 or 192.168.1.7`;
  }
  const [address, bits] = ipaddr.parseCIDR(entry);
  const first = (address.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(entry);
  // Most likely a wrong prefix length, which would open far more than was meant.
  if (first.toString() !== address.toString()) {
    return `"${entry}" has address bits behind its prefix: write ${first}/${bits} for the network, or ${address} for the address`;
  }
  return [address, bits];
}

/** ipaddr.js alone would also take "10" or "0x7f.1". */
function isDottedQuadOrIpv6(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
}
