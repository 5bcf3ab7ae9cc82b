import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { holds, type IpAddress, type PrivateNetworks } from "./private-networks.ts";

/**
 * All addresses of a host name, in the order in which they should be tried. Rejects with an error that has one of
 * `node:dns`' codes, `ENOTFOUND` among them.
 */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** A connection was refused because of where it would have gone. It does not say where: senders show its message. */
export class BlockedAddressError extends Error {
  override name = "BlockedAddressError";
  readonly code = "ERR_ADDRESS_NOT_ALLOWED";

  constructor() {
    super("address not allowed");
  }
}

/** Checks a host before each connection to it. */
export interface AddressGuard {
  /** For host literals, which Node connects to without any lookup: the error to fail with, or null for names and allowed addresses. */
  checkLiteral(host: string): BlockedAddressError | null;
  /**
   * The `lookup` of a socket: all addresses of the name, each of them allowed. The socket connects to what this
   * returned and looks nothing up again, so a name whose answer changes meanwhile cannot lead it elsewhere.
   */
  lookup: LookupFunction;
}

/**
 * @param allowedPrivateNetworks what is open although it is not public
 * @param resolve asks for addresses; tests give one with answers of their own
 */
export function createAddressGuard(allowedPrivateNetworks: PrivateNetworks, resolve: Resolve): AddressGuard {
  const isAllowed = (address: string) => isAllowedAddress(address, allowedPrivateNetworks);
  // localhost is this machine whatever a DNS server says (RFC 6761), and only those of its addresses that are open.
  const loopback = [
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ].filter(({ address }) => isAllowed(address));

  async function allowedAddresses(hostname: string): Promise<LookupAddress[]> {
    const addresses = isLocalhostName(hostname) ? loopback : await resolve(hostname);
    if (addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address))) {
      throw new BlockedAddressError();
    }
    return [...addresses];
  }

  return {
    checkLiteral: (host) => (isIP(host) === 0 || isAllowed(host) ? null : new BlockedAddressError()),
    lookup(hostname, options, callback) {
      allowedAddresses(hostname).then(
        (addresses) => {
          const [first] = addresses as [LookupAddress];
          if (options.all) callback(null, addresses);
          else callback(null, first.address, first.family);
        },
        (error) => callback(error, []),
      );
    },
  };
}

/**
 * True for public unicast addresses, and for those in the networks that are open by exception.
 *
 * An IPv6 address that carries an IPv4 address to connect to (mapped, NAT64) is judged by the one that it carries.
 *
 * @param ip the textual form of an IPv4 or IPv6 address; anything else is not allowed
 */
export function isAllowedAddress(ip: string, allowedPrivateNetworks: PrivateNetworks): boolean {
  const family = isIP(ip);
  if (family === 0) return false;
  const address = unwrap(ipaddr.parse(family === 6 ? inHexadecimal(ip) : ip));
  return isPublicUnicast(address) || holds(allowedPrivateNetworks, address);
}

/** True for the names that mean this machine: `localhost` and everything under it (RFC 6761). */
export function isLocalhostName(hostname: string): boolean {
  return /(^|\.)localhost\.?$/i.test(hostname);
}

const NAT64 = ipaddr.parseCIDR("64:ff9b::/96") as [ipaddr.IPv6, number];
// All networks that are assigned as global unicast. ipaddr.js calls every unknown network unicast.
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3") as [ipaddr.IPv6, number];
/** Azure's host agent, which answers every virtual machine there: public by its number, infrastructure by its role. */
const AZURE_HOST = "168.63.129.16";

/** ipaddr.js takes `::8.8.8.8` for `::ffff:8.8.8.8`, which is another address; it reads the hexadecimal form right. */
function inHexadecimal(ipv6: string): string {
  return new URL(`http://[${ipv6.replace(/%.*/, "")}]`).hostname.slice(1, -1);
}

function unwrap(address: IpAddress): IpAddress {
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  // Networks without IPv4 reach IPv4 receivers this way (DNS64), so a public one must pass.
  if (address.match(NAT64)) return new ipaddr.IPv4(address.toByteArray().slice(-4));
  return address;
}

function isPublicUnicast(address: IpAddress): boolean {
  if (address.range() !== "unicast") return false;
  return address instanceof ipaddr.IPv6 ? address.match(GLOBAL_IPV6) : address.toString() !== AZURE_HOST;
}
