import { isIP } from "node:net";

export interface HostAndPort {
  /** Without brackets if it is an IPv6 address. */
  host: string;
  port: number;
}

/** The parts of an endpoint's URL, parsed once and not for each request. */
export interface Target extends HostAndPort {
  url: string;
  /** The name for TLS, empty for an address. Node would find it out again for each request. */
  servername: string;
  path: string;
  hostHeader: string;
}

const TARGETS_KEPT = 20_000;

/** @returns null for anything but a plain https URL: such URLs are refused when they are saved, and are never sent to */
export function createTargets(): (url: string) => Target | null {
  const targets = new Map<string, Target | null>();
  return (url) => {
    const known = targets.get(url);
    if (known !== undefined) return known;
    const target = takeApart(url);
    if (targets.size >= TARGETS_KEPT) targets.clear();
    targets.set(url, target);
    return target;
  };
}

function takeApart(text: string): Target | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.protocol !== "https:" || url.username !== "" || url.password !== "") return null;
  // The final dot of a complete name belongs to DNS; neither TLS (RFC 6066) nor most receivers know it.
  url.hostname = url.hostname.replace(/\.$/, "");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return {
    url: url.href,
    host,
    servername: isIP(host) === 0 ? host : "",
    port: url.port === "" ? 443 : Number(url.port),
    path: url.pathname + url.search,
    hostHeader: url.host,
  };
}
