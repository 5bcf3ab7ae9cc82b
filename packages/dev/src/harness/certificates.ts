import { makeAuthority, makeSelfSigned } from "../certificates/authority.ts";

export type TestCertificates = Awaited<ReturnType<typeof make>>;

const HERE = ["localhost", "127.0.0.1", "::1"];
const DAY_MS = 86_400_000;

let made: Promise<TestCertificates> | undefined;

/** Certificates for HTTPS on the loopback, good and bad; made once for a test file. */
export function certificates(): Promise<TestCertificates> {
  made ??= make();
  return made;
}

async function make() {
  const authority = await makeAuthority("Herald test authority");
  const daysFromNow = (days: number) => new Date(Date.now() + days * DAY_MS);
  const [trusted, expired, notYetValid, wrongName, selfSigned] = await Promise.all([
    authority.issue({ names: HERE }),
    authority.issue({ names: HERE, notBefore: daysFromNow(-30), notAfter: daysFromNow(-1) }),
    authority.issue({ names: HERE, notBefore: daysFromNow(1), notAfter: daysFromNow(30) }),
    authority.issue({ names: ["receiver.invalid"] }),
    makeSelfSigned({ names: HERE }),
  ]);
  // `caPem` is of the authority that signed all but the last one.
  return { caPem: authority.cert, trusted, expired, notYetValid, wrongName, selfSigned };
}
