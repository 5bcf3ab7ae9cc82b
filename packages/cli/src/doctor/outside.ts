import { createPublicKey, type JsonWebKey } from "node:crypto";
import { getServers } from "node:dns";
import { Resolver } from "node:dns/promises";
import { KEY_SERVER } from "@herald/common/security/connection-fault";
import { NO_NAME } from "@herald/common/security/name-resolver";
import type { createEgressProxy } from "@herald/dispatcher";
import { plural } from "../output.ts";
import { ANSWER_MS, type Check, type Finding, fault, ok, refusal, skipped, warning } from "./finding.ts";

const PROXY_REMEDY =
  "Correct EGRESS_PROXY_URL, its user and its password, and have the proxy allow CONNECT to public addresses at any port.";
const NAMES_REMEDY =
  "Open UDP and TCP port 53 to the name servers of this machine, or name others by DNS_SERVERS: `getent hosts NAME` asks those of the machine.";

/** The identity provider's keys. The subject is AUTH_JWKS_URL, undefined if it is not set. */
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
        signal: AbortSignal.timeout(ANSWER_MS),
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
    // An answer that is not JSON counts as an answer without keys.
  }
  if (status >= 500) return fault(`${host} answers ${status}.`, "The provider has to mend it, or what is before it.");
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

interface WayOut {
  /** DNS_SERVERS; undefined for the machine's. */
  servers: readonly string[] | undefined;
  proxy: ReturnType<typeof createEgressProxy> | undefined;
}

/** Errors that still prove that a name server answered. */
const ANSWERS = ["ENOTFOUND", "ENODATA"];
const NAMES_TIMEOUT_MS = 2_000;

export const nameServers: Check<WayOut> = {
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

export const egressProxy: Check<WayOut> = {
  name: "egress proxy",
  async examine({ proxy }) {
    if (proxy === undefined || (await proxy.works())) return [];
    return fault("The egress proxy does not answer, or refuses its user.", PROXY_REMEDY);
  },
};
