import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import type { networkSettings } from "../config/common-settings.ts";
import { ConfigError } from "../config/read-config.ts";
import type { Config } from "../config/settings.ts";
import { contains, type IpAddress, type Networks, parseNat64Prefixes, parseNetworks } from "./networks.ts";

/**
 * All addresses of a host name, in the order in which they should be tried. Rejects with an error that has one of
 * `node:dns`' codes, `ENOTFOUND` among them.
 */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** A connection was refused because of its address. The message does not contain the address, since it is shown to admins. */
export class BlockedAddressError extends Error {
  override name = "BlockedAddressError";
  readonly code = "ERR_ADDRESS_NOT_ALLOWED";

  constructor() {
    super("address not allowed");
  }
}

/** Addresses of a name that are tried. A name server may answer with thousands, of other people's machines: one attempt would open a connection to each. */
export const MOST_ADDRESSES = 8;

export type AddressGuard = ReturnType<typeof createAddressGuard>;

/** Checks a host before each connection to it. @param resolve asks for addresses; tests give one with answers of their own */
export function createAddressGuard(rules: AddressRules, resolve: Resolve) {
  const isAllowed = (address: string) => isAllowedAddress(address, rules);
  // localhost is this machine whatever a DNS server says (RFC 6761), and only its open addresses.
  const loopback = [
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ].filter(({ address }) => isAllowed(address));

  async function allowedAddresses(hostname: string): Promise<LookupAddress[]> {
    const all = isLocalhostName(hostname) ? loopback : await resolve(hostname);
    // Ignore link-local addresses: they are unreachable from here, and the others are still valid.
    const addresses = all.filter(({ address }) => !LINK_LOCAL.test(address));
    // All are judged, also those that are not tried.
    if (addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address))) {
      throw new BlockedAddressError();
    }
    return ofBothFamilies(addresses, MOST_ADDRESSES);
  }

  /**
   * The `lookup` of a socket: addresses of the name, at most {@link MOST_ADDRESSES}, each of them allowed. The socket connects to the returned
   * addresses and looks nothing up again, so a name with another answer a moment later cannot lead it elsewhere.
   */
  const lookup: LookupFunction = (hostname, options, callback) => {
    allowedAddresses(hostname).then(
      (addresses) => {
        const [first] = addresses as [LookupAddress];
        if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error) => callback(error, []),
    );
  };

  return {
    /** For host literals, which Node connects to without any lookup: the error to fail with, or null for names and allowed addresses. */
    checkLiteral: (host: string) => (isIP(host) === 0 || isAllowed(host) ? null : new BlockedAddressError()),
    lookup,
  };
}

/**
 * True for public unicast addresses, and for those in the networks that are open by exception; never for those in a network that is
 * closed.
 *
 * An IPv6 address that carries an IPv4 address to connect to (mapped, NAT64) is judged by the one that it carries; either of the two
 * can be in a closed network.
 * @param ip the textual form of an IPv4 or IPv6 address; anything else is not allowed
 */
export function isAllowedAddress(ip: string, { allowed, denied, nat64Prefixes }: AddressRules): boolean {
  const family = isIP(ip);
  if (family === 0) return false;
  const given = ipaddr.parse(family === 6 ? inHexadecimal(ip) : ip);
  const address = unwrap(given, nat64Prefixes);
  if (contains(denied, given) || contains(denied, address)) return false;
  return isPublicUnicast(address) || contains(allowed, address);
}

/** fe80::/10, as a resolver writes it. Clouds serve secrets at link-local addresses of IPv4, so a name with one of those is refused as a whole. */
const LINK_LOCAL = /^fe[89ab][0-9a-f]:/i;

/** The first ones, in their order; where there are more than `most`, some of each family. */
function ofBothFamilies(addresses: readonly LookupAddress[], most: number): LookupAddress[] {
  if (addresses.length <= most) return [...addresses];
  const of = (family: number) => addresses.filter((address) => address.family === family).slice(0, most);
  const [ipv4, ipv6] = [of(4), of(6)];
  const fourths = Math.max(most / 2, most - ipv6.length);
  const chosen = new Set([...ipv4.slice(0, fourths), ...ipv6.slice(0, most - Math.min(fourths, ipv4.length))]);
  return addresses.filter((address) => chosen.has(address));
}

/** True for the names that mean this machine: `localhost` and everything under it (RFC 6761). */
export function isLocalhostName(hostname: string): boolean {
  return /(^|\.)localhost\.?$/i.test(hostname);
}

/** Networks without IPv4 reach IPv4 receivers this way (DNS64), so what carries a public one must pass. */
const WELL_KNOWN_NAT64 = ipaddr.parseCIDR("64:ff9b::/96");
// All networks that are assigned as global unicast. ipaddr.js calls every unknown network unicast.
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3") as [ipaddr.IPv6, number];
/** Azure's host agent, which answers every virtual machine there: public by its number, infrastructure by its role. */
const AZURE_HOST = "168.63.129.16";

/** ipaddr.js takes `::8.8.8.8` for `::ffff:8.8.8.8`, which is another address; it reads the hexadecimal form right. */
function inHexadecimal(ipv6: string): string {
  return new URL(`http://[${ipv6.replace(/%.*/, "")}]`).hostname.slice(1, -1);
}

function unwrap(address: IpAddress, nat64Prefixes: Networks): IpAddress {
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  const prefix = [...nat64Prefixes, WELL_KNOWN_NAT64].find((network) => contains([network], address));
  return prefix === undefined ? address : carriedBy(address, prefix[1]);
}

/** The IPv4 address behind a NAT64 prefix. It leaves out byte 8, which is always zero (RFC 6052, section 2.2). */
function carriedBy(address: ipaddr.IPv6, prefixBits: number): ipaddr.IPv4 {
  const bytes = address.toByteArray();
  const start = prefixBits / 8;
  const behind = prefixBits === 96 ? bytes.slice(start) : [...bytes.slice(start, 8), ...bytes.slice(9)];
  return new ipaddr.IPv4(behind.slice(0, 4));
}

function isPublicUnicast(address: IpAddress): boolean {
  if (address.range() !== "unicast") return false;
  return address instanceof ipaddr.IPv6 ? address.match(GLOBAL_IPV6) : address.toString() !== AZURE_HOST;
}

export interface AddressRules {
  /** Networks that may be connected to although they are not public. */
  allowed: Networks;
  denied: Networks;
  /** An address in one of these leads to the IPv4 address that it carries. The longest prefix comes first. */
  nat64Prefixes: Networks;
}

/** Reads the settings of networks; those that are absent say nothing. @throws ConfigError that lists every entry that can't be used */
export function addressRules(settings: Partial<Config<typeof networkSettings>>): AddressRules {
  const problems: string[] = [];
  function read(name: keyof typeof settings, parse: (name: string, text: string) => Networks): Networks {
    try {
      return parse(name, settings[name] ?? "");
    } catch (error) {
      problems.push((error as Error).message);
      return [];
    }
  }
  const rules = {
    allowed: read("ALLOWED_PRIVATE_NETWORKS", parseNetworks),
    denied: read("DENIED_NETWORKS", parseNetworks),
    nat64Prefixes: read("NAT64_PREFIXES", parseNat64Prefixes),
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return rules;
}
