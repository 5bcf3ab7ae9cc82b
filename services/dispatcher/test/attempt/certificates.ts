import "reflect-metadata";
import { randomUUID, type webcrypto } from "node:crypto";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 86_400_000;

interface Issuer {
  certificate: X509Certificate;
  keys: webcrypto.CryptoKeyPair;
}

export interface ServerCertificate {
  cert: string;
  key: string;
}

export interface LeafOptions {
  names?: string[];
  /** Days from now. */
  validFrom?: number;
  validUntil?: number;
  forServers?: boolean;
}

/** An authority whose root the sender trusts, one that it does not, and what they and nobody sign. */
export async function createAuthorities() {
  const root = await issue({ name: `CN=Test root ${randomUUID()}`, authority: true });
  const intermediate = await issue({ name: "CN=Test intermediate", authority: true }, root);
  const stranger = await issue({ name: "CN=Stranger", authority: true });
  return {
    rootPem: root.certificate.toString("pem"),
    trusted: async (options: LeafOptions = {}) => leaf(options, root),
    strangers: async (options: LeafOptions = {}) => leaf(options, stranger),
    selfSigned: async (options: LeafOptions = {}) => leaf(options),
    viaIntermediate: async (options: LeafOptions = {}) => {
      const { cert, key } = await leaf(options, intermediate);
      return { cert: cert + intermediate.certificate.toString("pem"), key };
    },
    withoutIntermediate: async (options: LeafOptions = {}) => leaf(options, intermediate),
  };
}

async function leaf(options: LeafOptions, issuer?: Issuer): Promise<ServerCertificate> {
  const { certificate, keys } = await issue({ name: "CN=Test receiver", ...options }, issuer);
  const key = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  return {
    cert: `${certificate.toString("pem")}\n`,
    key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----`,
  };
}

async function issue(options: LeafOptions & { name: string; authority?: boolean }, issuer?: Issuer): Promise<Issuer> {
  const {
    name,
    authority = false,
    names = ["receiver.test"],
    validFrom = -1,
    validUntil = 1,
    forServers = true,
  } = options;
  const keys = (await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
  const usage = forServers ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.emailProtection;
  const certificate = await X509CertificateGenerator.create({
    subject: name,
    issuer: issuer?.certificate.subject ?? name,
    notBefore: new Date(Date.now() + validFrom * DAY_MS),
    notAfter: new Date(Date.now() + validUntil * DAY_MS),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: issuer?.keys.privateKey ?? keys.privateKey,
    extensions: authority
      ? [new BasicConstraintsExtension(true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)]
      : [
          new ExtendedKeyUsageExtension([usage]),
          new SubjectAlternativeNameExtension(
            names.map((value) => ({ type: /^[\d.]+$/.test(value) ? "ip" : "dns", value })),
          ),
        ],
  });
  return { certificate, keys };
}
