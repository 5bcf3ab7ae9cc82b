import { createPublicKey, type JsonWebKey } from "node:crypto";
import { readFileSync, statfsSync } from "node:fs";
import { isIP } from "node:net";
import { connect, rootCertificates, type TLSSocket } from "node:tls";
import { createAddressGuard, type Resolve } from "@herald/common/security/address-guard";
import type { AddressRules } from "@herald/common/security/address-rules";
import { explainTlsFailure } from "@herald/common/security/server-certificate";
import type { Disk } from "../command.ts";
import { reasonOf } from "../database.ts";
import { type Check, type Finding, fault, ok, plural, skipped, warning } from "./finding.ts";
import { unreachable } from "./refusals.ts";

const TIMEOUT_MS = 10_000;

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
      return connectionFinding((error as { cause?: unknown }).cause ?? error, {
        name: "the key server",
        host,
        urlSetting: "AUTH_JWKS_URL",
        caSetting: "NODE_EXTRA_CA_CERTS",
      });
    }
  },
};

interface Server {
  name: string;
  host: string;
  urlSetting: string;
  caSetting: string;
}

function connectionFinding(error: unknown, server: Server): Finding {
  const tls = explainTlsFailure(error, server);
  if (tls) return fault(tls.what, tls.remedy);
  return (
    unreachable(error, server) ??
    fault(
      `${server.name} at ${server.host} can't be reached: ${reasonOf(error)}.`,
      `Correct ${server.urlSetting}, or open the way to it: port 443.`,
    )
  );
}

export function keysFinding({ host, status, text }: { host: string; status: number; text: string }): Finding {
  const remedy = "Correct AUTH_JWKS_URL: the provider names it as jwks_uri in /.well-known/openid-configuration.";
  if (status !== 200) return fault(`${host} answers ${status} instead of keys.`, remedy);
  const keys = readKeys(text);
  if (keys === undefined) return fault(`What ${host} answers is no JSON with keys.`, remedy);
  const usable = keys.filter(isUsable).length;
  if (usable > 0) return ok(`${host} has ${plural(usable, "key")} that tokens can be verified with.`);
  return fault(
    `${host} has ${plural(keys.length, "key")}, and none that tokens can be verified with.`,
    "Have the provider sign with RSA (2048 bits or more), EC (P-256, P-384, P-521) or Ed25519, and publish that key for signatures.",
  );
}

function readKeys(text: string): Record<string, unknown>[] | undefined {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown };
    return Array.isArray(keys) ? keys : undefined;
  } catch {
    return undefined;
  }
}

const LEAST_RSA_BITS = 2048;
const KINDS = ["rsa", "rsa-pss", "ec", "ed25519"];

function isUsable(jwk: Record<string, unknown>): boolean {
  try {
    if (jwk.use !== undefined && jwk.use !== "sig") return false;
    const { asymmetricKeyType = "", asymmetricKeyDetails } = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
    return (
      KINDS.includes(asymmetricKeyType) && (asymmetricKeyDetails?.modulusLength ?? LEAST_RSA_BITS) >= LEAST_RSA_BITS
    );
  } catch {
    return false;
  }
}

/** The way that a dispatcher's attempts take. */
export interface WayOutSubject {
  /** A receiver's; undefined where none was named. */
  url: URL | undefined;
  /** Asks the name servers that dispatchers ask. */
  resolve: Resolve;
  /** EXTRA_CA_FILE's text. */
  extraCa: string | undefined;
  addresses: AddressRules;
}

export const wayOut: Check<WayOutSubject> = {
  name: "way out",
  async examine({ url, resolve, extraCa, addresses }) {
    if (url === undefined) return skipped("--url names no receiver to try.");
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const guard = createAddressGuard(addresses, resolve);
    try {
      const blocked = guard.checkLiteral(host);
      if (blocked) throw blocked;
      const socket = await secured(
        connect({
          host,
          port: Number(url.port || 443),
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
      return ok(`${host} answers at ${remoteAddress} with ${protocol}.`);
    } catch (error) {
      return wayOutFinding(error, host);
    }
  },
};

function secured(socket: TLSSocket): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(TIMEOUT_MS, () => fail(new Error("timeout")));
    socket.once("error", fail);
    socket.once("secureConnect", () => resolve(socket));
  });
}

/** What c-ares says where a name server can't be asked, or can't answer. */
const NO_NAME_SERVER = new Set(["ETIMEOUT", "ESERVFAIL", "EREFUSED", "ECONNREFUSED", "ECANCELLED", "EBADRESP"]);

export function wayOutFinding(error: unknown, host: string): Finding {
  const { code = "", syscall = "" } = error as { code?: string; syscall?: string };
  if (code === "ERR_ADDRESS_NOT_ALLOWED") {
    return fault(
      `${host} has an address that is not public, or that DENIED_NETWORKS closes, and Herald sends nothing there.`,
      "Name a public receiver. For development, ALLOWED_PRIVATE_NETWORKS opens networks of your own.",
    );
  }
  if (syscall.startsWith("query") && NO_NAME_SERVER.has(code)) {
    return fault(
      `The name servers do not say where ${host} is (${code}).`,
      "Open UDP and TCP port 53 to the name servers of this machine, or name others by DNS_SERVERS.",
    );
  }
  if (code === "ENODATA") return fault(`The name ${host} has no address.`, "Correct the URL that --url names.");
  return connectionFinding(error, { name: "the receiver", host, urlSetting: "--url", caSetting: "EXTRA_CA_FILE" });
}

/** Those of this machine, where a server runs on it. */
export const disks: Check<readonly Disk[]> = {
  name: "disks",
  async examine(all) {
    if (all.length === 0) return skipped("PostgreSQL and RabbitMQ are on other machines: watch their disks there.");
    const findings = all.flatMap(({ path, bytes, freeBytes }) => {
      const share = freeBytes / bytes;
      if (share >= LITTLE) return [];
      const what = `Of the disk at ${path} ${Math.floor(share * 100)} % is free, ${Math.floor(freeBytes / 1024 ** 2)} MiB.`;
      const remedy =
        "Make room: no event can be stored on a full disk. docs/operating/sizing.md says how much a day takes; RETENTION_DAYS keeps fewer.";
      return [share < ALMOST_NOTHING ? fault(what, remedy) : warning(what, remedy)];
    });
    return findings.length > 0 ? findings : ok(`Each of ${plural(all.length, "disk")} of this machine has room.`);
  },
};

const LITTLE = 0.1;
const ALMOST_NOTHING = 0.03;

/** What this machine writes to; none where it does not say so, as on other systems than Linux. */
export function disksOfThisMachine(): Disk[] {
  try {
    const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
    const paths = new Map(
      mounts.flatMap((line) => {
        const [device = "", path = "", , options = ""] = line.split(" ");
        return device.startsWith("/dev/") && options.split(",").includes("rw") ? [[device, path]] : [];
      }),
    );
    return [...paths.values()].flatMap((path) => {
      const { bsize, blocks, bavail } = statfsSync(path.replaceAll("\\040", " "));
      return blocks === 0 ? [] : [{ path, bytes: blocks * bsize, freeBytes: bavail * bsize }];
    });
  } catch {
    return [];
  }
}
