import { createPublicKey, type JsonWebKey } from "node:crypto";
import { once } from "node:events";
import { readFileSync, statfsSync } from "node:fs";
import { isIP } from "node:net";
import { connect, rootCertificates, type TLSSocket } from "node:tls";
import { type AddressRules, createAddressGuard, type Resolve } from "@herald/common/security/address-guard";
import type { createEgressProxy } from "@herald/dispatcher";
import type { Disk } from "../command.ts";
import { plural } from "../output.ts";
import { type Check, type Finding, fault, ok, skipped, warning } from "./finding.ts";
import { KEY_SERVER, RECEIVER, refusal } from "./refusals.ts";

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
      return refusal((error as { cause?: unknown }).cause ?? error, KEY_SERVER, host);
    }
  },
};

export function keysFinding({ host, status, text }: { host: string; status: number; text: string }): Finding {
  const remedy = "Correct AUTH_JWKS_URL: the provider names it as jwks_uri in /.well-known/openid-configuration.";
  if (status !== 200) return fault(`${host} answers ${status} instead of keys.`, remedy);
  let keys: unknown;
  try {
    ({ keys } = JSON.parse(text));
  } catch {
    // As an answer without keys.
  }
  if (!Array.isArray(keys)) return fault(`What ${host} answers is no JSON with keys.`, remedy);
  const usable = keys.filter(isUsable).length;
  if (usable > 0) return ok(`${host} has ${plural(usable, "key")} that tokens can be verified with.`);
  return fault(
    `${host} has ${plural(keys.length, "key")}, and none that tokens can be verified with.`,
    "Have the provider sign with RSA (2048 bits or more), EC (P-256, P-384, P-521) or Ed25519, and publish that key for signatures.",
  );
}

const LEAST_RSA_BITS = 2048;
const KINDS = ["rsa", "rsa-pss", "ec", "ed25519"];

function isUsable(jwk: JsonWebKey): boolean {
  try {
    if (jwk.use !== undefined && jwk.use !== "sig") return false;
    const { asymmetricKeyType = "", asymmetricKeyDetails } = createPublicKey({ key: jwk, format: "jwk" });
    return (
      KINDS.includes(asymmetricKeyType) && (asymmetricKeyDetails?.modulusLength ?? LEAST_RSA_BITS) >= LEAST_RSA_BITS
    );
  } catch {
    return false;
  }
}

/** The way that a dispatcher's attempts take. */
interface WayOutSubject {
  /** A receiver's; undefined where none was named. */
  url: URL | undefined;
  /** Asks the name servers that dispatchers ask. */
  resolve: Resolve;
  /** EXTRA_CA_FILE's text. */
  extraCa: string | undefined;
  addresses: AddressRules;
  /** Where all attempts go through it. */
  proxy?: ReturnType<typeof createEgressProxy> | undefined;
}

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
      return refusal(error, RECEIVER, host);
    }
  },
};

async function secured(socket: TLSSocket): Promise<TLSSocket> {
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error("timeout")));
  await once(socket, "secureConnect");
  return socket;
}

/** The disks of this machine, where a server runs on it. */
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
