export { type KeyPair, makeAuthority } from "./authority.ts";
