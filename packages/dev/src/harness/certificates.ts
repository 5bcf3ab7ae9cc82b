import { type KeyPair, makeAuthority, makeSelfSigned } from "../certificates/authority.ts";

export interface TestCertificates {
  /** The certificate of the authority that signed `trusted`. A sender that trusts it accepts `trusted`. */
  caPem: string;
  /** A certificate for localhost, 127.0.0.1 and ::1. */
  trusted: KeyPair;
  /** Like `trusted`, but it has expired. */
  expired: KeyPair;
  /** Like `trusted`, but it becomes valid in the future. */
  notYetValid: KeyPair;
  /** A certificate of the same authority for another name. */
  wrongName: KeyPair;
  /** A certificate for the right names that no authority signed. */
  selfSigned: KeyPair;
}

const HERE = ["localhost", "127.0.0.1", "::1"];
const DAY_MS = 86_400_000;

let made: Promise<TestCertificates> | undefined;

/** Certificates for HTTPS on the loopback, good and bad; made once for a test file. */
export function certificates(): Promise<TestCertificates> {
  made ??= make();
  return made;
}

async function make(): Promise<TestCertificates> {
  const authority = await makeAuthority("Herald test authority");
  const daysFromNow = (days: number) => new Date(Date.now() + days * DAY_MS);
  const [trusted, expired, notYetValid, wrongName, selfSigned] = await Promise.all([
    authority.issue({ names: HERE }),
    authority.issue({ names: HERE, notBefore: daysFromNow(-30), notAfter: daysFromNow(-1) }),
    authority.issue({ names: HERE, notBefore: daysFromNow(1), notAfter: daysFromNow(30) }),
    authority.issue({ names: ["receiver.invalid"] }),
    makeSelfSigned({ names: HERE }),
  ]);
  return { caPem: authority.cert, trusted, expired, notYetValid, wrongName, selfSigned };
}
