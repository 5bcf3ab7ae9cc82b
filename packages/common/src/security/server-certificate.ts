import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { ConfigError } from "../config/read-config.ts";

/** A server that Herald connects to over TLS, in the words of its operator. */
export interface TlsServer {
  /** "PostgreSQL" */
  name: string;
  /** The setting that says where it is. */
  urlSetting: string;
  /** The setting that names the file of its certificate authorities. */
  caSetting: string;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Reads the file of certificate authorities that a setting names.
 *
 * @returns its text, as Node's TLS takes it; undefined where the setting is absent
 * @throws ConfigError where the file can't be read, or something in it is no certificate
 */
export function readCaFile(setting: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new ConfigError([`${setting} names a file that can't be read: ${(error as Error).message}`]);
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) {
    throw new ConfigError([
      `${setting}: ${file} holds no certificate in PEM (-----BEGIN CERTIFICATE-----). ` +
        "Give the certificate of the authority; one in DER is converted by: openssl x509 -inform der -in FILE",
    ]);
  }
  for (const [index, certificate] of certificates.entries()) {
    try {
      // OpenSSL leaves out what it can't read, and says nothing.
      new X509Certificate(certificate);
    } catch {
      throw new ConfigError([`${setting}: certificate ${index + 1} of ${file} is damaged; fetch the file anew.`]);
    }
  }
  return text;
}

/** Why no TLS connection came about. */
export type TlsFailure = "authority" | "name" | "expired" | "not yet valid" | "no TLS";

/** pg gives the error of a server that refuses TLS no code. */
export const NO_TLS_CODE = "ERR_NO_TLS";

/** The failures of TLS, by Node's error codes. */
const FAILURES: ReadonlyMap<unknown, TlsFailure> = new Map<unknown, TlsFailure>([
  ["SELF_SIGNED_CERT_IN_CHAIN", "authority"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "authority"],
  ["UNABLE_TO_GET_ISSUER_CERT", "authority"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "authority"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "authority"],
  ["CERT_UNTRUSTED", "authority"],
  // An authority of the same name, with another key.
  ["CERT_SIGNATURE_FAILURE", "authority"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "name"],
  ["CERT_HAS_EXPIRED", "expired"],
  ["CERT_NOT_YET_VALID", "not yet valid"],
  // What OpenSSL says of an answer that is no TLS.
  ["ERR_SSL_WRONG_VERSION_NUMBER", "no TLS"],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", "no TLS"],
  [NO_TLS_CODE, "no TLS"],
]);

/** The message of pg's error where the server refuses TLS. */
const NO_TLS = /^The server does not support SSL connections/;

/** Recognizes a failure of TLS; undefined where the error is about something else. */
export function tlsFailureOf(error: unknown): TlsFailure | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (typeof message === "string" && NO_TLS.test(message)) return "no TLS";
  return FAILURES.get(code);
}

/** Explains a TLS failure to the person who can mend it. */
export interface Explanation {
  what: string;
  remedy: string;
}

/** What is wrong between this process and a server's TLS, and what to do; undefined where the error is about something else. */
export function explainTlsFailure(error: unknown, server: TlsServer): Explanation | undefined {
  const { name, urlSetting, caSetting } = server;
  switch (tlsFailureOf(error)) {
    case "authority":
      return {
        what: `${name}'s certificate is from an authority that is not trusted here (${(error as { code: string }).code}).`,
        remedy: `Put the certificate of that authority into a PEM file, and name it by ${caSetting}.`,
      };
    case "name": {
      const { host, cert } = error as { host?: string; cert?: { subjectaltname?: string } };
      return {
        what: `${name}'s certificate is for ${cert?.subjectaltname ?? "other names"}, and not for ${host ?? "this host"}.`,
        remedy: `Write a name of the certificate into ${urlSetting}, or give the server a certificate for this one.`,
      };
    }
    case "expired":
      return {
        what: `${name}'s certificate, or that of its authority, has expired.`,
        remedy: "Renew it on the server. If it is still valid, this machine's clock is wrong.",
      };
    case "not yet valid":
      return {
        what: `${name}'s certificate, or that of its authority, is not valid yet.`,
        remedy: "Compare the clocks of both machines.",
      };
    case "no TLS":
      return {
        what: `${name} does not speak TLS at this port.`,
        remedy: `Switch TLS on there, or name the port that has it in ${urlSetting}. Without TLS, ${caSetting} has to be absent.`,
      };
    case undefined:
      return undefined;
  }
}
