import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { ConfigError } from "../config/read-config.ts";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Reads the file of certificate authorities that a setting names.
 *
 * @returns its text, as Node's TLS takes it; undefined if the setting is absent
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
      throw new ConfigError([`${setting}: certificate ${index + 1} of ${file} is damaged; fetch the file again.`]);
    }
  }
  return text;
}

/** @throws ConfigError if there are authorities to check the broker by, and the URL asks for no TLS */
export function assertTls(url: string, ca: string | undefined): void {
  if (ca === undefined || /^amqps:/i.test(url)) return;
  throw new ConfigError([
    "AMQP_CA_FILE is set, but AMQP_URL asks for no TLS. Write amqps:// and the broker's port for TLS.",
  ]);
}
