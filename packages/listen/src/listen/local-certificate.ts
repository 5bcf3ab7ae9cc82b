// @peculiar/x509 needs this polyfill loaded first.
import "reflect-metadata";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const TEN_YEARS_MS = 3_650 * 86_400_000;

/**
 * This user's certificate for HTTPS on the loopback, with its private key: PEM, in `~/.herald-listen.pem`. The first caller makes it:
 * the listener, or a local Herald, which trusts it. The other one then finds it.
 */
export async function localCertificate(home = homedir()): Promise<{ cert: string; key: string }> {
  const file = join(home, ".herald-listen.pem");
  const known = read(file);
  if (known) return known;
  const own = `${file}.${process.pid}`;
  writeFileSync(own, await makePem(), { mode: 0o600 });
  try {
    linkSync(own, file);
  } catch (error) {
    // Another process was first.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(own);
  }
  const made = read(file);
  if (!made) throw new Error(`${file} holds no certificate and key: delete it, and a new one is made`);
  return made;
}

function read(file: string): { cert: string; key: string } | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const [key = "", cert = ""] = text.split(/(?=-----BEGIN CERTIFICATE)/);
  return { cert, key };
}

/** Self-signed: a thief of its key can pose as this machine's loopback, and as no other host. */
async function makePem(): Promise<string> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=herald-listen",
    // A day ago, since clocks differ.
    notBefore: new Date(Date.now() - 86_400_000),
    notAfter: new Date(Date.now() + TEN_YEARS_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: "dns", value: "localhost" },
        { type: "ip", value: "127.0.0.1" },
        { type: "ip", value: "::1" },
      ]),
    ],
  });
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  return `${key}\n${certificate.toString("pem")}\n`;
}
