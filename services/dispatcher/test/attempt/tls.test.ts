import type { Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import { type CertificateAuthority, makeAuthority, makeSelfSigned } from "@herald/dev/certificates/authority";
import { eventually } from "@herald/dev/harness/eventually";
import { afterEach, beforeAll, expect, test } from "@jest/globals";
import { type Receiver, tcpReceiver, wellBehavedReceiver } from "./receivers.ts";
import { authoritiesIn, request, sender, type TestSender } from "./sending.ts";

interface Issuers {
  /** The sender trusts it. */
  trusted: CertificateAuthority;
  intermediate: CertificateAuthority;
  stranger: CertificateAuthority;
}

const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);
const names = ["receiver.test"];

let issuers: Issuers;
let receiver: Receiver;
let sending: TestSender;

beforeAll(async () => {
  const trusted = await makeAuthority("Test authority");
  issuers = {
    trusted,
    intermediate: await trusted.issueAuthority("Test intermediate"),
    stranger: await makeAuthority("Stranger"),
  };
});

afterEach(async () => {
  await sending.close();
  await receiver.close();
});

async function sendTo(tls: TlsOptions, host = "receiver.test", extraAuthorities = authoritiesIn(issuers.trusted.cert)) {
  receiver = await wellBehavedReceiver(tls);
  sending = sender({ extraAuthorities });
  return sending.send(request({ url: `https://${host}:${receiver.port}/` }));
}

async function expectRefused(errorSummary: string, result: Awaited<ReturnType<typeof sendTo>>) {
  expect(result).toMatchObject({ statusCode: 503, succeeded: false, errorSummary, responseExcerpt: null });
  await eventually(() => expect(receiver.open()).toBe(0));
}

const UNKNOWN_AUTHORITY =
  "certificate not trusted (unknown authority, or the receiver does not send its intermediate certificate)";

const OTHER_NAME = "certificate is for another name";

async function withIntermediate({ intermediate }: Issuers): Promise<TlsOptions> {
  const { cert, key } = await intermediate.issue({ names });
  return { cert: `${cert}\n${intermediate.cert}`, key };
}

/** A record with a ServerHello of TLS 1.2 that has no extensions: the renegotiation_info of RFC 5746 is missing. */
const OLD_SERVER_HELLO = Buffer.from(`160303002a020000260303${"ab".repeat(32)}00c02f00`, "hex");

test.each<[string, (from: Issuers) => Promise<TlsOptions>, string?]>([
  ["by an authority of EXTRA_CA_FILE", ({ trusted }) => trusted.issue({ names })],
  ["by an intermediate that the receiver sends along", withIntermediate],
  ["for an address", ({ trusted }) => trusted.issue({ names: ["127.0.0.1"] }), "127.0.0.1"],
  ["for a wildcard", ({ trusted }) => trusted.issue({ names: ["*.receiver.test"] }), "eu.receiver.test"],
  ["for the name without its trailing dot", ({ trusted }) => trusted.issue({ names }), "receiver.test."],
])("the sender accepts a certificate %s", async (_title, certificate, host = "receiver.test") => {
  expect(await sendTo(await certificate(issuers), host)).toMatchObject({ statusCode: 200, succeeded: true });
});

test.each<[string, (from: Issuers) => Promise<TlsOptions>, string, string?]>([
  [
    "that has expired",
    ({ trusted }) => trusted.issue({ names, notBefore: inDays(-2), notAfter: inDays(-1) }),
    "certificate expired",
  ],
  ["of the future", ({ trusted }) => trusted.issue({ names, notBefore: inDays(1) }), "certificate not yet valid"],
  ["for another name", ({ trusted }) => trusted.issue({ names: ["other.test"] }), OTHER_NAME],
  ["for a name, at an address", ({ trusted }) => trusted.issue({ names }), OTHER_NAME, "127.0.0.1"],
  ["for a wildcard too far up", ({ trusted }) => trusted.issue({ names: ["*.b.test"] }), OTHER_NAME, "c.a.b.test"],
  ["that signed itself", () => makeSelfSigned({ names }), "certificate not trusted (self-signed)"],
  ["by a stranger", ({ stranger }) => stranger.issue({ names }), UNKNOWN_AUTHORITY],
  ["without its intermediate", ({ intermediate }) => intermediate.issue({ names }), UNKNOWN_AUTHORITY],
  [
    "for mail",
    ({ trusted }) => trusted.issue({ names, usage: "mail" }),
    "certificate not trusted (not made for servers)",
  ],
  [
    "with a key that is too weak",
    async ({ trusted }) => ({
      ...(await trusted.issue({ names, weak: "key" })),
      // Without this the receiver itself would refuse to start.
      ciphers: "DEFAULT:@SECLEVEL=0",
    }),
    "certificate not trusted (EE certificate key too weak)",
  ],
  [
    "with a signature that is too weak",
    ({ trusted }) => trusted.issue({ names, weak: "signature" }),
    "certificate not trusted (CA signature digest algorithm too weak)",
  ],
  [
    "for a name that its authority may not give",
    async ({ trusted }) => {
      const bounded = await trusted.issueAuthority("Bounded", "other.test");
      const { cert, key } = await bounded.issue({ names });
      return { cert: `${cert}\n${bounded.cert}`, key };
    },
    "certificate not trusted (permitted subtree violation)",
  ],
])("the sender refuses a certificate %s", async (_title, certificate, errorSummary, host = "receiver.test") => {
  await expectRefused(errorSummary, await sendTo(await certificate(issuers), host));
});

test("a receiver whose new authority is in the file by now gets each of its attempts at once", async () => {
  let nowMs = 0;
  const extraAuthorities = authoritiesIn(issuers.stranger.cert, () => nowMs);
  receiver = await wellBehavedReceiver(await issuers.trusted.issue({ names }));
  sending = sender({ extraAuthorities });
  const send = () => sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));
  await expectRefused(UNKNOWN_AUTHORITY, await send());
  extraAuthorities.write(issuers.trusted.cert);
  // The file is looked at once a second, if connections fail.
  nowMs = 1_000;
  for (const result of await Promise.all([send(), send(), send()])) expect(result).toMatchObject({ succeeded: true });
});

test("the sender trusts only the system's roots without EXTRA_CA_FILE", async () => {
  receiver = await wellBehavedReceiver(await issuers.trusted.issue({ names }));
  sending = sender();
  const result = await sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));
  await expectRefused(UNKNOWN_AUTHORITY, result);
});

test("the sender speaks TLS 1.2", async () => {
  const result = await sendTo({ ...(await issuers.trusted.issue({ names })), maxVersion: "TLSv1.2" });
  expect(result).toMatchObject({ statusCode: 200 });
});

test.each<[string, () => TlsOptions, string]>([
  [
    "TLS versions before 1.2",
    () => ({ minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }),
    "receiver does not support TLS 1.2 or later",
  ],
  [
    "a question for a client certificate",
    () => ({ requestCert: true, ca: issuers.trusted.cert }),
    "receiver asks for a client certificate",
  ],
  [
    "other ciphers",
    () => ({ maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-CAMELLIA128-SHA256:@SECLEVEL=0" }),
    "TLS handshake failed",
  ],
  ["HTTP/2 alone", () => ({ ALPNProtocols: ["h2"] }), "receiver does not speak HTTP/1.1"],
])("a receiver with %s has its own error summary", async (_title, options, errorSummary) => {
  await expectRefused(errorSummary, await sendTo({ ...(await issuers.trusted.issue({ names })), ...options() }));
});

test.each<[string, (socket: Socket) => unknown, string]>([
  [
    "a port that speaks plain HTTP",
    (socket) => socket.on("data", () => {}).write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "receiver does not speak TLS on this port",
  ],
  [
    "a port that speaks mail",
    (socket) => socket.on("data", () => {}).write("220 mail.example ESMTP\r\n"),
    "receiver does not speak TLS on this port",
  ],
  [
    "a port that speaks TLS 1.2 without secure renegotiation",
    (socket) => socket.once("data", () => socket.write(OLD_SERVER_HELLO)),
    "receiver's TLS is outdated and unsafe",
  ],
  [
    "a connection that closes during the handshake",
    (socket) => socket.resume().end(),
    "connection closed during the TLS handshake",
  ],
])("%s has its own error summary", async (_title, onConnection, errorSummary) => {
  receiver = await tcpReceiver(onConnection);
  sending = sender();
  await expectRefused(errorSummary, await sending.send(request({ url: `https://receiver.test:${receiver.port}/` })));
});
