import { isIP } from "node:net";
import { type AddressRules, isAllowedAddress, isLocalhostName } from "./address-guard.ts";

/** Why a URL cannot be saved; stable, for clients to branch on. */
export type UrlProblem =
  | "url_too_long"
  | "url_malformed"
  | "url_not_https"
  | "url_has_credentials"
  | "url_has_fragment"
  | "url_host_not_public";

export type UrlCheck =
  /** `url` is the text as it was given: what was saved is what is shown again. */
  { ok: true; url: string } | { ok: false; code: UrlProblem; message: string };

/**
 * Judges an endpoint's URL by its text alone (SPEC 2.1, rules 1 to 4): nothing is looked up or connected to (rule 5).
 * The address guard judges the addresses of a public name at every connect.
 *
 * The messages are for the admin who typed the URL. They quote no part of it that could be a password.
 */
export function checkEndpointUrl(
  text: string,
  { addresses, maxLength = 2048 }: { addresses: AddressRules; maxLength?: number },
): UrlCheck {
  if (text.length > maxLength) return refuse("url_too_long", `The URL is longer than ${maxLength} characters.`);
  const problem = problemOfText(text);
  if (problem) return problem;

  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url) return refuse("url_malformed", "The URL's host name or port is not valid.");
  if (url.port === "0") return refuse("url_malformed", "The URL's port is 0, to which nothing can connect.");
  return problemOfHost(url.hostname, addresses) ?? { ok: true, url: text };
}

/** Finds what WHATWG's parser would silently repair (drop, reorder, fill in): then the saved URL would not be the one that the admin typed. */
function problemOfText(text: string): UrlCheck | null {
  if (/[\s\p{Cc}\p{Cf}\p{Cs}]/u.test(text)) {
    return refuse("url_malformed", "The URL contains spaces, line breaks or invisible characters: remove them.");
  }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === "http") {
    return refuse("url_not_https", "The URL starts with http://, but events are sent over https:// only.");
  }
  if (!/^https:\/\/[^/\\?#]/i.test(text)) {
    return refuse("url_not_https", "The URL must be absolute and start with https:// and a host name.");
  }
  if (text.includes("\\")) return refuse("url_malformed", "The URL contains a backslash: write / or %5C instead.");
  if (/[{}]|<[^<>]*>/.test(text)) {
    return refuse("url_malformed", "The URL has a placeholder in { } or < >: put its value there.");
  }
  const authority = /^https:\/\/([^/?#]*)/i.exec(text)?.[1] ?? "";
  if (authority.includes("@")) {
    return refuse(
      "url_has_credentials",
      "The URL contains a user name or password before an @: remove it. Receivers recognize events by their signature.",
    );
  }
  if (text.includes("#")) {
    return refuse("url_has_fragment", "The URL contains a #: what follows it is never sent to a receiver. Remove it.");
  }
  return null;
}

/** @param hostname as WHATWG's parser gives it: lowercase, punycode, any IPv4 notation as four decimals, IPv6 in brackets */
function problemOfHost(hostname: string, addresses: AddressRules): UrlCheck | null {
  const literal = hostname.replace(/^\[|\]$/g, "");
  if (isIP(literal) !== 0) {
    if (isAllowedAddress(literal, addresses)) return null;
    const isDenied = isAllowedAddress(literal, { ...addresses, denied: [] });
    return refuse(
      "url_host_not_public",
      isDenied
        ? "The URL's address is in a network that is closed to webhooks here: a receiver must have another one."
        : "The URL's address is loopback, private or reserved: a receiver must have a public one.",
    );
  }
  const name = hostname.replace(/\.$/, "");
  if (!isHostName(name)) return refuse("url_malformed", "The URL's host name is not valid.");
  if (isLocalhostName(name)) {
    if (["127.0.0.1", "::1"].some((address) => isAllowedAddress(address, addresses))) return null;
    const what = "The URL's host is this machine itself: a receiver must have a public host name.";
    return refuse("url_host_not_public", what);
  }
  // A single label has no public meaning. Once a private network is open its names must be usable, and which of them lead into it is known at
  // connect only.
  if (addresses.allowed.length === 0 && (!name.includes(".") || PRIVATE_SUFFIX.test(name))) {
    return refuse(
      "url_host_not_public",
      "The URL's host name only exists inside private networks: a receiver must have a public host name.",
    );
  }
  return null;
}

/** The lengths of DNS (RFC 1035), counted on the punycode form. */
function isHostName(name: string): boolean {
  return name.length <= 253 && name.split(".").every((label) => label.length > 0 && label.length <= 63);
}

/**
 * Top-level names that public DNS does not have and promises never to: for private use by RFC 6762 (`local` and its
 * appendix G), RFC 8375 (`home.arpa`) and ICANN (`internal`), which the metadata services of clouds use too.
 */
const PRIVATE_SUFFIX = /(^|\.)(local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa)$/;

function refuse(code: UrlProblem, message: string): UrlCheck {
  return { ok: false, code, message };
}
