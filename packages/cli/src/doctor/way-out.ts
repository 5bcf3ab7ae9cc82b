import { isIP } from "node:net";
import { connect, rootCertificates, type TLSSocket } from "node:tls";
import { createAddressGuard, type Resolve } from "@herald/common/security/address-guard";
import type { AddressRules } from "@herald/common/security/address-rules";
import { explainTlsFailure } from "@herald/common/security/server-certificate";
import { reasonOf } from "../database.ts";
import type { Check } from "./check.ts";
import { type Finding, fault, ok, skipped } from "./finding.ts";
import { unreachable } from "./unreachable.ts";

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

const TIMEOUT_MS = 10_000;

export const wayOut: Check<WayOutSubject> = {
  name: "way out",
  async examine({ url, resolve, extraCa, addresses }) {
    if (url === undefined) return skipped("--url names no receiver to try.");
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const guard = createAddressGuard(addresses, resolve);
    const blocked = guard.checkLiteral(host);
    if (blocked) return wayOutFinding(blocked, host);
    try {
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
  const tls = explainTlsFailure(error, { name: host, urlSetting: "--url", caSetting: "EXTRA_CA_FILE" });
  if (tls) return fault(tls.what, tls.remedy);
  return (
    unreachable(error, { name: "the receiver", host, urlSetting: "--url" }) ??
    fault(
      `${host} can't be reached: ${reasonOf(error)}.`,
      "Open the way out for dispatchers: port 443 to the internet.",
    )
  );
}
