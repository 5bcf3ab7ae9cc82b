import type { IncomingHttpHeaders } from "node:http";
import querystring from "node:querystring";
import { parseCookie } from "cookie";
import type { Request } from "express";
import { ProblemError } from "../problems/problem-error.ts";

export type Credentials =
  | { kind: "bearer"; token: string }
  /** The admin page's cookie, which browsers also attach to requests that other sites make. */
  | { kind: "cookie"; token: string }
  /** Something that is no user's token; `header` names the header that holds it. */
  | { kind: "api-key"; header: string }
  | { kind: "none" };

const API_KEY_HEADERS = ["x-api-key", "api-key", "apikey", "x-apikey", "x-api-token", "x-access-key", "x-auth-key"];

const BEARER = /^bearer +(?<token>[^ ]+) *$/i;
/** Three parts of Base64url: a text of any other shape is no JWT. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** A user's token wins over an API key, since gateways add keys of their own; the header over the cookie, which browsers send by themselves. */
export function findCredentials(headers: IncomingHttpHeaders, cookieName: string): Credentials {
  const { authorization } = headers;
  if (authorization) {
    const token = BEARER.exec(authorization)?.groups?.token;
    if (token !== undefined && JWT.test(token)) return { kind: "bearer", token };
    return { kind: "api-key", header: "Authorization" };
  }
  const cookie = headers.cookie === undefined ? "" : tokenIn(parseCookie(headers.cookie), cookieName);
  if (cookie) return { kind: "cookie", token: cookie };
  const header = API_KEY_HEADERS.find((name) => headers[name] !== undefined);
  return header === undefined ? { kind: "none" } : { kind: "api-key", header };
}

/** The token in a cookie; or in `name.0`, `name.1` and so on, since browsers take no cookie of more than 4 KiB. */
function tokenIn(cookies: Readonly<Record<string, string | undefined>>, name: string): string {
  let token = cookies[name] ?? "";
  if (token === "") for (let part = 0; cookies[`${name}.${part}`]; part++) token += cookies[`${name}.${part}`];
  return token;
}

/** Refuses a request that is meant for another organization than the token's. @param meant percent-encoded */
export function assertMeantFor(organizationId: string | null, meant: string | undefined): void {
  if (meant !== undefined && querystring.unescape(meant) !== organizationId)
    throw new ProblemError("organization_mismatch");
}

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Refuses a change that another site made the browser send: browsers attach our cookie to such requests too. Where no public
 * origin is set, only the host is compared, since a proxy may have ended TLS.
 * @throws ProblemError `origin_mismatch`, which names both origins, and what an operator corrects if the page itself is refused
 */
export function assertSameOrigin(request: Request, publicOrigin: string | undefined): void {
  if (SAFE_METHODS.has(request.method)) return;
  const { origin, host } = request.headers;
  if (origin === undefined) throw new ProblemError("origin_mismatch");
  const scheme = origin.slice(0, origin.indexOf(":"));
  const expected = originOf(publicOrigin ?? `${scheme}://${host}`);
  // A browser sends an origin in its one spelling, and the setting may be in another one.
  if (origin === expected) return;
  const remedy =
    publicOrigin === undefined
      ? "It compares with the Host header: a proxy that changes that needs the setting PUBLIC_ORIGIN"
      : "An operator corrects the setting PUBLIC_ORIGIN, if the page is at the first one";
  throw new ProblemError("origin_mismatch", {
    detail: `The request comes from ${origin.slice(0, MAX_ORIGIN)}, and Herald expects ${expected ?? host}. ${remedy}.`,
    isForOperator: true,
  });
}

/** As long as a host's name can be, with scheme and port. */
const MAX_ORIGIN = 270;

/** An origin as browsers write it: in lower case, and without the scheme's own port. Null for what has none. */
export function originOf(url: string): string | null {
  return URL.canParse(url) && new URL(url).origin !== "null" ? new URL(url).origin : null;
}
