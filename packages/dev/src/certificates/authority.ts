// @peculiar/x509 needs this loaded before it.
import "reflect-metadata";
import { isIP } from "node:net";
import * as x509 from "@peculiar/x509";

/** A certificate and its private key, both PEM: what `https.createServer` takes. */
export interface KeyPair {
  cert: string;
  key: string;
}

const USAGES = { server: "serverAuth", client: "clientAuth", mail: "emailProtection" } as const;

export interface LeafOptions {
  /** Host names and IP addresses that the certificate is for. */
  names: string[];
  notBefore?: Date;
  notAfter?: Date;
  /** For servers by default. */
  usage?: keyof typeof USAGES;
  /** A weakness that OpenSSL refuses: a key of RSA with 1,024 bits, or a signature over SHA-1. */
  weak?: "key" | "signature";
}

export interface CertificateAuthority extends KeyPair {
  issue(leaf: LeafOptions): Promise<KeyPair>;
  /** An authority below this one: what it issues is trusted where its own certificate is sent along. `permits`: the only name that this may be for. */
  issueAuthority(commonName: string, permits?: string): Promise<CertificateAuthority>;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const WEAK_SIGNATURE = { ...ALGORITHM, hash: "SHA-1" };
const WEAK_KEY = {
  name: "RSASSA-PKCS1-v1_5",
  modulusLength: 1_024,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: "SHA-256",
};
const DAY_MS = 86_400_000;

/** Makes a certificate authority that lives for ten years. */
export async function makeAuthority(commonName: string): Promise<CertificateAuthority> {
  return openAuthority(await certify(commonName, authorityExtensions()));
}

/** An authority that was made earlier, from its two PEM texts. */
export async function openAuthority(pair: KeyPair): Promise<CertificateAuthority> {
  const bytes = x509.PemConverter.decodeFirst(pair.key);
  const key = await crypto.subtle.importKey("pkcs8", bytes, ALGORITHM, false, ["sign"]);
  const issuer = { subject: new x509.X509Certificate(pair.cert).subject, key };
  return {
    ...pair,
    issue: (leaf) => certify(leaf.names[0] ?? "", leafExtensions(leaf), leaf, issuer),
    issueAuthority: async (name, permits) =>
      openAuthority(await certify(name, authorityExtensions(permits), {}, issuer)),
  };
}

/** A certificate that no authority signed, only its own key. */
export function makeSelfSigned(leaf: LeafOptions): Promise<KeyPair> {
  return certify(leaf.names[0] ?? "", leafExtensions(leaf), leaf);
}

/** Makes keys and a certificate of them, signed by the issuer, or by itself if there is none. */
async function certify(
  commonName: string,
  extensions: x509.Extension[],
  { notBefore, notAfter, weak }: Pick<LeafOptions, "notBefore" | "notAfter" | "weak"> = {},
  issuer?: { subject: string; key: Awaited<ReturnType<typeof crypto.subtle.importKey>> },
): Promise<KeyPair> {
  const keys = await crypto.subtle.generateKey(weak === "key" ? WEAK_KEY : ALGORITHM, true, ["sign", "verify"]);
  const subject = `CN=${commonName}`;
  const now = Date.now();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject,
    issuer: issuer?.subject ?? subject,
    // Starts a day ago, since the clock of the side that checks may be late.
    notBefore: notBefore ?? new Date(now - DAY_MS),
    notAfter: notAfter ?? new Date(now + 3_650 * DAY_MS),
    signingAlgorithm: weak === "signature" ? WEAK_SIGNATURE : ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: issuer?.key ?? keys.privateKey,
    extensions,
  });
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  return { cert: certificate.toString("pem"), key };
}

function authorityExtensions(permits?: string): x509.Extension[] {
  return [
    new x509.BasicConstraintsExtension(true, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ...(permits === undefined ? [] : [nameConstraints(permits)]),
  ];
}

/** RFC 5280, 4.2.1.10: a list of one permitted name. */
function nameConstraints(name: string): x509.Extension {
  const der = (tag: number, content: Buffer) => Buffer.concat([Buffer.from([tag, content.length]), content]);
  const permitted = der(0xa0, der(0x30, der(0x82, Buffer.from(name))));
  return new x509.Extension("2.5.29.30", true, new Uint8Array(der(0x30, permitted)));
}

function leafExtensions(leaf: LeafOptions): x509.Extension[] {
  const names = leaf.names.map((value) => ({ type: isIP(value) ? ("ip" as const) : ("dns" as const), value }));
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage[USAGES[leaf.usage ?? "server"]]]),
    new x509.SubjectAlternativeNameExtension(names),
  ];
}

/** Positive and of 16 bytes, as the standard asks. */
function serialNumber(): string {
  const bytes = Buffer.from(crypto.getRandomValues(new Uint8Array(16)));
  return `4${bytes.toString("hex").slice(1)}`;
}
