import type { IncomingHttpHeaders } from "node:http";
import { parseCookie } from "cookie";

/** How a request says who sends it. */
export type Credentials =
  /** `Authorization: Bearer`. */
  | { kind: "bearer"; token: string }
  /** The admin page's cookie, which browsers also attach to requests that other sites make. */
  | { kind: "cookie"; token: string }
  /** Something that is no user's token; `header` names where it was. */
  | { kind: "api-key"; header: string }
  | { kind: "none" };

/** Where API keys usually are. */
const API_KEY_HEADERS = ["x-api-key", "api-key", "apikey", "x-apikey", "x-api-token", "x-access-key", "x-auth-key"];

const BEARER = /^bearer +(?<token>[^ ]+) *$/i;
/** Three parts of Base64url: what is shaped otherwise is no JWT, whoever issued it. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Finds a request's credentials. A user's token wins over an API key beside it, since gateways add keys of their own, and
 * the header wins over the cookie, since it was put there on purpose.
 */
export function findCredentials(headers: IncomingHttpHeaders, cookieName: string): Credentials {
  const { authorization } = headers;
  if (authorization) {
    const token = BEARER.exec(authorization)?.groups?.token;
    if (token !== undefined && JWT.test(token)) return { kind: "bearer", token };
    return { kind: "api-key", header: "Authorization" };
  }
  const cookie = headers.cookie === undefined ? undefined : parseCookie(headers.cookie)[cookieName];
  if (cookie) return { kind: "cookie", token: cookie };
  const header = API_KEY_HEADERS.find((name) => headers[name] !== undefined);
  return header === undefined ? { kind: "none" } : { kind: "api-key", header };
}
