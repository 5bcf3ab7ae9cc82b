import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { performance } from "node:perf_hooks";
import type { Resolve } from "./address-guard.ts";

export interface NameResolverOptions {
  /** Answers of name servers; the system's are asked by default. */
  query?: (hostname: string) => Promise<readonly LookupAddress[]>;
  /** Text of a hosts file; `/etc/hosts` by default. */
  hosts?: () => string;
  /** Milliseconds from any fixed point, never going back. */
  nowMs?: () => number;
}

/**
 * Long enough that a burst of connections asks once, short enough that a moved receiver is found at the next attempt.
 * A name's own time to live is not looked at: for most it is longer, and what was resolved is checked on every connect.
 */
const ANSWER_KEPT_MS = 5_000;
const ANSWERS_KEPT = 10_000;
/** How long settings of the system (`resolv.conf`, hosts file) are taken as read. */
const SYSTEM_KEPT_MS = 60_000;
const QUERY = { timeout: 2_000, tries: 2 };

/**
 * Resolves names over c-ares instead of `dns.lookup`. That one runs getaddrinfo on libuv's threads, two of the four at
 * most: two names whose servers never answer, and for seconds no receiver of anybody is found any more. c-ares waits
 * for any number of servers at once.
 *
 * The price is that it asks name servers only, so the hosts file is read here, and wins, as it does for getaddrinfo.
 * Search domains do not apply: a receiver's name is always written in full.
 */
export function createNameResolver(options: NameResolverOptions = {}): Resolve {
  const { query = systemQuery(), hosts = systemHosts, nowMs = () => performance.now() } = options;
  const answers = new Map<string, { addresses: Promise<readonly LookupAddress[]>; untilMs: number }>();
  let hostsFile = new Map<string, LookupAddress[]>();
  let hostsReadMs = Number.NEGATIVE_INFINITY;

  function fromHosts(name: string): LookupAddress[] | undefined {
    if (nowMs() - hostsReadMs >= SYSTEM_KEPT_MS) {
      hostsFile = parseHosts(hosts());
      hostsReadMs = nowMs();
    }
    return hostsFile.get(name);
  }

  return async (hostname) => {
    const name = hostname.toLowerCase().replace(/\.$/, "");
    const known = fromHosts(name);
    if (known) return known;

    const kept = answers.get(name);
    if (kept && kept.untilMs > nowMs()) return kept.addresses;
    answers.delete(name);

    // Kept from the moment of asking, so that all who ask meanwhile wait for the same answer.
    const entry = { addresses: query(name), untilMs: Number.POSITIVE_INFINITY };
    answers.set(name, entry);
    // A Map keeps the order of insertion, so its first entry is the oldest.
    for (const oldest of answers.keys()) {
      if (answers.size <= ANSWERS_KEPT) break;
      answers.delete(oldest);
    }
    try {
      const addresses = await entry.addresses;
      entry.untilMs = nowMs() + ANSWER_KEPT_MS;
      return addresses;
    } catch (error) {
      if (answers.get(name) === entry) answers.delete(name);
      throw error;
    }
  };
}

/** IPv4 first: a machine without IPv6 is common, one without IPv4 gets no IPv4 answers worth trying. */
function systemQuery(): (hostname: string) => Promise<LookupAddress[]> {
  let resolver = new Resolver(QUERY);
  let madeMs = performance.now();

  return async (hostname) => {
    // A resolver reads resolv.conf when it is made, and never again.
    if (performance.now() - madeMs >= SYSTEM_KEPT_MS) {
      resolver = new Resolver(QUERY);
      madeMs = performance.now();
    }
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = [
      ...(ipv4.status === "fulfilled" ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
      ...(ipv6.status === "fulfilled" ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
    ];
    if (addresses.length > 0) return addresses;
    const reasons = [ipv4, ipv6].flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    // "This name has no address of that kind" says less than why the other question failed.
    throw reasons.find((reason) => reason.code !== "ENODATA") ?? reasons[0];
  };
}

function systemHosts(): string {
  try {
    return readFileSync("/etc/hosts", "utf8");
  } catch {
    return "";
  }
}

function parseHosts(text: string): Map<string, LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names.map((text) => text.toLowerCase())) {
      const addresses = hosts.get(name);
      if (addresses) addresses.push({ address, family });
      else hosts.set(name, [{ address, family }]);
    }
  }
  return hosts;
}
