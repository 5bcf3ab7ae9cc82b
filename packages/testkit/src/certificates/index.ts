export { type CertificateAuthority, type KeyPair, makeAuthority, makeSelfSigned } from "./authority.ts";
