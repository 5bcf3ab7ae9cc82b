import { createPublicKey, type JsonWebKey } from "node:crypto";
import { getServers } from "node:dns";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { isIP } from "node:net";
import { connect, rootCertificates, type TLSSocket } from "node:tls";
import { type AddressRules, createAddressGuard, type Resolve } from "@herald/common/security/address-guard";
import type { Server } from "@herald/common/security/connection-fault";
import type { createEgressProxy } from "@herald/dispatcher";
import { plural } from "../output.ts";
import { type Check, type Finding, fault, ok, refusal, skipped, warning } from "./finding.ts";

const TIMEOUT_MS = 10_000;

const notReached = [
  "{name} at {host} can't be reached: {reason}.",
  "Correct {url}, or open the way to it: port 443.",
] as const;

const KEY_SERVER: Server = {
  name: "the key server",
  urlSetting: "AUTH_JWKS_URL",
  caSetting: "NODE_EXTRA_CA_CERTS",
  rows: [],
  other: notReached,
};

const PROXY_REMEDY =
  "Correct EGRESS_PROXY_URL, its user and its password, and have the proxy allow CONNECT to public addresses at any port.";
const NAMES_REMEDY =
  "Open UDP and TCP port 53 to the name servers of this machine, or name others by DNS_SERVERS: `getent hosts NAME` asks those of the machine.";

export const RECEIVER: Server = {
  name: "the receiver",
  urlSetting: "--url",
  caSetting: "EXTRA_CA_FILE",
  rows: [
    [
      /^ERR_ADDRESS_NOT_ALLOWED /,
      "{host} has an address that is not public, or that DENIED_NETWORKS closes, and Herald sends nothing there.",
      "Name a public receiver. For development, ALLOWED_PRIVATE_NETWORKS opens networks of your own.",
    ],
    // What c-ares says if a name server can't be asked, or can't answer.
    [
      /^(ETIMEOUT|ESERVFAIL|EREFUSED|ECONNREFUSED|ECANCELLED|EBADRESP) query/,
      "The name servers do not say where {host} is{code}.",
      NAMES_REMEDY,
    ],
    [/^ERR_EGRESS_PROXY /, "The egress proxy makes no way to {host}.", PROXY_REMEDY],
    [/^ENODATA /, "The name {host} has no address.", "Correct the URL that --url names."],
  ],
  other: notReached,
};

/** The identity provider's keys. The subject is AUTH_JWKS_URL, undefined where it is not set. */
export const jwks: Check<string | undefined> = {
  name: "identity provider's keys",
  async examine(url) {
    if (url === undefined) return skipped("AUTH_JWKS_URL is not set here.");
    if (!URL.canParse(url)) return fault("AUTH_JWKS_URL is no URL.", "Write it as https://identity.example.com/jwks.");
    const { host } = new URL(url);
    try {
      const response = await fetch(url, {
        headers: { accept: "application/json", connection: "close" },
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return keysFinding({ host, status: response.status, text: await response.text() });
    } catch (error) {
      return refusal((error as { cause?: unknown }).cause ?? error, KEY_SERVER, url);
    }
  },
};

export function keysFinding({ host, status, text }: { host: string; status: number; text: string }): Finding {
  let keys: unknown;
  try {
    ({ keys } = JSON.parse(text));
  } catch {
    // As an answer without keys.
  }
  if (status !== 200 || !Array.isArray(keys))
    return fault(
      `${host} answers ${status}, and not with keys.`,
      "Correct AUTH_JWKS_URL: the provider names it as jwks_uri in /.well-known/openid-configuration.",
    );
  const usable = keys.filter(isUsable).length;
  if (usable > 0) return ok(`${host} has ${plural(usable, "key")} for signatures.`);
  return fault(`${host} has no key for signatures.`, "Have the provider publish the one that it signs with.");
}

function isUsable(jwk: JsonWebKey): boolean {
  try {
    return (jwk.use ?? "sig") === "sig" && createPublicKey({ key: jwk, format: "jwk" }).type === "public";
  } catch {
    return false;
  }
}

/** The way that a dispatcher's attempts take. */
interface WayOutSubject {
  /** A receiver's; undefined where none was named. */
  url: URL | undefined;
  /** DNS_SERVERS; undefined for those of the machine. */
  servers: readonly string[] | undefined;
  /** Asks these name servers. */
  resolve: Resolve;
  /** EXTRA_CA_FILE's text. */
  extraCa: string | undefined;
  addresses: AddressRules;
  /** Where all attempts go through it. */
  proxy?: ReturnType<typeof createEgressProxy> | undefined;
}

/** RFC 6761: there is no such name, and name servers say so at once. That is an answer. */
const NO_NAME = "herald.invalid";
const ANSWERS = ["ENOTFOUND", "ENODATA"];
const NAMES_TIMEOUT_MS = 2_000;

/** Asks each name server of dispatchers. */
export const nameServers: Check<WayOutSubject> = {
  name: "name servers",
  async examine({ servers = getServers() }) {
    const silent = await Promise.all(
      servers.map(async (server) => {
        const resolver = new Resolver({ timeout: NAMES_TIMEOUT_MS, tries: 1 });
        resolver.setServers([server]);
        const code = await resolver.resolve4(NO_NAME).then(
          () => "",
          ({ code }: NodeJS.ErrnoException) => code ?? "",
        );
        return code === "" || ANSWERS.includes(code) ? [] : [`${server} (${code})`];
      }),
    ).then((all) => all.flat());
    if (silent.length === 0) return [];
    const what = `Name servers that know no answer: ${silent.join(", ")}.`;
    // One that says so may know the names of receivers.
    const areAllSilent = silent.length === servers.length && !/ESERVFAIL|EREFUSED/.test(what);
    return areAllSilent ? fault(what, NAMES_REMEDY) : warning(what, NAMES_REMEDY);
  },
};

export const egressProxy: Check<WayOutSubject> = {
  name: "egress proxy",
  async examine({ proxy }) {
    if (proxy === undefined || (await proxy.works())) return [];
    return fault("The egress proxy does not answer, or refuses its user.", PROXY_REMEDY);
  },
};

export const wayOut: Check<WayOutSubject> = {
  name: "way out",
  async examine({ url, resolve, extraCa, addresses, proxy }) {
    if (url === undefined) return skipped("--url names no receiver to try.");
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const guard = createAddressGuard(addresses, resolve);
    try {
      const blocked = guard.checkLiteral(host);
      if (blocked) throw blocked;
      const port = Number(url.port || 443);
      const tunnel = await proxy?.open({ host, port }, guard, TIMEOUT_MS);
      const socket = await secured(
        connect({
          host,
          port,
          ...(tunnel && { socket: tunnel }),
          lookup: guard.lookup,
          minVersion: "TLSv1.2",
          rejectUnauthorized: true,
          ...(isIP(host) === 0 && { servername: host }),
          ...(extraCa !== undefined && { ca: [...rootCertificates, extraCa] }),
        }),
      );
      const { remoteAddress } = socket;
      const protocol = socket.getProtocol();
      socket.destroy();
      return ok(`${host} answers ${tunnel ? "through the egress proxy" : `at ${remoteAddress}`} with ${protocol}.`);
    } catch (error) {
      return refusal(error, RECEIVER, url.href);
    }
  },
};

async function secured(socket: TLSSocket): Promise<TLSSocket> {
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error("timeout")));
  await once(socket, "secureConnect");
  return socket;
}
