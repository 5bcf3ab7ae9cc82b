// What @peculiar/x509 is built on wants this loaded before it.
import "reflect-metadata";
import { isIP } from "node:net";
import * as x509 from "@peculiar/x509";

/** A certificate and its private key, both PEM: what `https.createServer` takes. */
export interface KeyPair {
  cert: string;
  key: string;
}

export interface LeafOptions {
  /** Host names and IP addresses that the certificate is for. */
  names: string[];
  notBefore?: Date;
  notAfter?: Date;
  /** For servers by default. */
  usage?: "server" | "mail";
}

export interface CertificateAuthority extends KeyPair {
  issue(leaf: LeafOptions): Promise<KeyPair>;
  /** An authority below this one: what it issues is trusted where its own certificate is sent along. */
  issueAuthority(commonName: string): Promise<CertificateAuthority>;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 86_400_000;

/** Makes a certificate authority that lives for ten years. */
export async function makeAuthority(commonName: string): Promise<CertificateAuthority> {
  const keys = await newKeys();
  const subject = `CN=${commonName}`;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: subject,
    ...validity({}),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: authorityExtensions(),
  });
  return authority({ cert: certificate.toString("pem"), key: await privateKeyPem(keys) }, certificate, keys.privateKey);
}

/** An authority that was made earlier, from its two PEM texts. */
export async function openAuthority(pair: KeyPair): Promise<CertificateAuthority> {
  const bytes = x509.PemConverter.decodeFirst(pair.key);
  const key = await crypto.subtle.importKey("pkcs8", bytes, ALGORITHM, false, ["sign"]);
  return authority(pair, new x509.X509Certificate(pair.cert), key);
}

/** A certificate that no authority signed, only its own key. */
export async function makeSelfSigned(leaf: LeafOptions): Promise<KeyPair> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: `CN=${leaf.names[0]}`,
    ...validity(leaf),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: leafExtensions(leaf),
  });
  return { cert: certificate.toString("pem"), key: await privateKeyPem(keys) };
}

function authority(
  pair: KeyPair,
  certificate: x509.X509Certificate,
  signingKey: Keys["privateKey"],
): CertificateAuthority {
  return {
    ...pair,
    issue: async (leaf) => {
      const keys = await newKeys();
      const issued = await x509.X509CertificateGenerator.create({
        serialNumber: serialNumber(),
        subject: `CN=${leaf.names[0]}`,
        issuer: certificate.subject,
        ...validity(leaf),
        signingAlgorithm: ALGORITHM,
        publicKey: keys.publicKey,
        signingKey,
        extensions: leafExtensions(leaf),
      });
      return { cert: issued.toString("pem"), key: await privateKeyPem(keys) };
    },
    issueAuthority: async (commonName) => {
      const keys = await newKeys();
      const issued = await x509.X509CertificateGenerator.create({
        serialNumber: serialNumber(),
        subject: `CN=${commonName}`,
        issuer: certificate.subject,
        ...validity({}),
        signingAlgorithm: ALGORITHM,
        publicKey: keys.publicKey,
        signingKey,
        extensions: authorityExtensions(),
      });
      return authority({ cert: issued.toString("pem"), key: await privateKeyPem(keys) }, issued, keys.privateKey);
    },
  };
}

function authorityExtensions(): x509.Extension[] {
  return [
    new x509.BasicConstraintsExtension(true, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
  ];
}

function leafExtensions(leaf: LeafOptions): x509.Extension[] {
  const names = leaf.names.map((value) => ({ type: isIP(value) ? ("ip" as const) : ("dns" as const), value }));
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([
      x509.ExtendedKeyUsage[leaf.usage === "mail" ? "emailProtection" : "serverAuth"],
    ]),
    new x509.SubjectAlternativeNameExtension(names),
  ];
}

/** Starts a day ago, since the clock of the side that checks may be late. */
function validity(leaf: Partial<LeafOptions>): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return {
    notBefore: leaf.notBefore ?? new Date(now - DAY_MS),
    notAfter: leaf.notAfter ?? new Date(now + 3_650 * DAY_MS),
  };
}

type Keys = Awaited<ReturnType<typeof newKeys>>;

function newKeys() {
  return crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function privateKeyPem(keys: Keys): Promise<string> {
  return x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
}

/** Positive and of 16 bytes, as the standard asks. */
function serialNumber(): string {
  const bytes = Buffer.from(crypto.getRandomValues(new Uint8Array(16)));
  return `4${bytes.toString("hex").slice(1)}`;
}
