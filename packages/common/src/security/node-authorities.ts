import tls from "node:tls";
import { TlsFiles } from "./tls-files.ts";

/**
 * The authorities of NODE_EXTRA_CA_CERTS, which Node trusts beside its own, wherever no others are named: as of the identity provider and of collectors.
 * Node reads that file at its start only. Undefined without it, if Node could not read it and said so, and before Node 22.19.
 */
export const nodeAuthorities: TlsFiles | undefined = follow(process.env.NODE_EXTRA_CA_CERTS);

function follow(file: string | undefined): TlsFiles | undefined {
  if (!file || typeof tls.setDefaultCACertificates !== "function") return undefined;
  const [extra, bundled] = [new Set(tls.getCACertificates("extra")), new Set(tls.getCACertificates("bundled"))];
  const others = tls.getCACertificates("default").filter((each) => bundled.has(each) || !extra.has(each));
  try {
    return new TlsFiles([{ use: "ca", setting: "NODE_EXTRA_CA_CERTS", file }], {
      onChange: ({ ca = "" }) => tls.setDefaultCACertificates([...others, ca]),
    });
  } catch {
    return undefined;
  }
}
