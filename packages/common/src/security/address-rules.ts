import type { networkSettings } from "../config/common-settings.ts";
import { ConfigError } from "../config/read-config.ts";
import type { Config } from "../config/settings.ts";
import { type Networks, parseNat64Prefixes, parseNetworks } from "./networks.ts";

/** Which addresses may be connected to, beside those that are public. */
export interface AddressRules {
  /** Networks that may be connected to although they are not public. */
  allowed: Networks;
  /** Networks that may never be connected to. */
  denied: Networks;
  /** An address in one of these leads to the IPv4 address that it carries. The longest prefix comes first. */
  nat64Prefixes: Networks;
}

/**
 * Reads the settings of networks; those that are absent say nothing.
 *
 * @throws ConfigError that lists every entry that can't be used
 */
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

/** The rules without exceptions, which hold in production where nothing is set. */
export const PUBLIC_ONLY: AddressRules = addressRules({});
