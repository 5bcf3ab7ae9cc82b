import type { TlsOptions } from "node:tls";
import { afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { Sender } from "../../src/attempt/index.ts";
import { createAuthorities } from "./certificates.ts";
import { type Receiver, tcpReceiver, wellBehavedReceiver } from "./receivers.ts";
import { eventually, request, sender } from "./sending.ts";

type Authorities = Awaited<ReturnType<typeof createAuthorities>>;

let authorities: Authorities;
let receiver: Receiver;
let sending: Sender;

beforeAll(async () => {
  authorities = await createAuthorities();
});

afterEach(async () => {
  await sending.close();
  await receiver.close();
});

async function sendTo(tls: TlsOptions, host = "receiver.test", extraCa: string | undefined = authorities.rootPem) {
  receiver = await wellBehavedReceiver(tls);
  sending = sender({ extraCa });
  return sending.send(request({ url: `https://${host}:${receiver.port}/` }));
}

async function expectRefused(errorSummary: string, result: Awaited<ReturnType<typeof sendTo>>) {
  expect(result).toMatchObject({ statusCode: 503, succeeded: false, errorSummary, responseExcerpt: null });
  await eventually("the connection is closed", () => receiver.open() === 0);
}

const UNKNOWN_AUTHORITY =
  "certificate not trusted (unknown authority, or the receiver does not send its intermediate certificate)";

describe("certificates", () => {
  test.each<[string, (from: Authorities) => Promise<TlsOptions>, string?]>([
    ["by an authority of EXTRA_CA_FILE", (from) => from.trusted()],
    ["by an intermediate that the receiver sends along", (from) => from.viaIntermediate()],
    ["for an address", (from) => from.trusted({ names: ["127.0.0.1"] }), "127.0.0.1"],
    ["for a wildcard", (from) => from.trusted({ names: ["*.receiver.test"] }), "eu.receiver.test"],
    ["for the name without its trailing dot", (from) => from.trusted(), "receiver.test."],
  ])("accepts one %s", async (_title, certificate, host = "receiver.test") => {
    expect(await sendTo(await certificate(authorities), host)).toMatchObject({ statusCode: 200, succeeded: true });
  });

  test.each<[string, (from: Authorities) => Promise<TlsOptions>, string, string?]>([
    ["that has expired", (from) => from.trusted({ validFrom: -2, validUntil: -1 }), "certificate expired"],
    ["of the future", (from) => from.trusted({ validFrom: 1, validUntil: 2 }), "certificate not yet valid"],
    ["for another name", (from) => from.trusted({ names: ["other.test"] }), "certificate is for another name"],
    ["for a name, at an address", (from) => from.trusted(), "certificate is for another name", "127.0.0.1"],
    [
      "for a wildcard too far up",
      (from) => from.trusted({ names: ["*.test"] }),
      "certificate is for another name",
      "a.b.test",
    ],
    ["that signed itself", (from) => from.selfSigned(), "certificate not trusted (self-signed)"],
    ["by a stranger", (from) => from.strangers(), UNKNOWN_AUTHORITY],
    ["without its intermediate", (from) => from.withoutIntermediate(), UNKNOWN_AUTHORITY],
    ["for mail", (from) => from.trusted({ forServers: false }), "certificate not trusted (not made for servers)"],
  ])("refuses one %s", async (_title, certificate, errorSummary, host = "receiver.test") => {
    await expectRefused(errorSummary, await sendTo(await certificate(authorities), host));
  });

  test("trusts nothing but the system's roots without EXTRA_CA_FILE", async () => {
    receiver = await wellBehavedReceiver(await authorities.trusted());
    sending = sender();
    const result = await sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));
    await expectRefused(UNKNOWN_AUTHORITY, result);
  });
});

describe("TLS", () => {
  test("refuses versions before 1.2", async () => {
    const old: TlsOptions = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" };
    const result = await sendTo({ ...(await authorities.trusted()), ...old });
    await expectRefused("receiver does not support TLS 1.2 or later", result);
  });

  test("speaks 1.2", async () => {
    const result = await sendTo({ ...(await authorities.trusted()), maxVersion: "TLSv1.2" });
    expect(result).toMatchObject({ statusCode: 200 });
  });

  test("a receiver that asks for a client certificate is told apart", async () => {
    const asking = { ...(await authorities.trusted()), requestCert: true, ca: authorities.rootPem };
    await expectRefused("receiver asks for a client certificate", await sendTo(asking));
  });

  test("a receiver of other ciphers is told apart", async () => {
    const other: TlsOptions = { maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-CAMELLIA128-SHA256:@SECLEVEL=0" };
    await expectRefused("TLS handshake failed", await sendTo({ ...(await authorities.trusted()), ...other }));
  });

  test.each([
    ["plain HTTP", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"],
    ["mail", "220 mail.example ESMTP\r\n"],
  ])("a port that speaks %s is told apart", async (_title, greeting) => {
    receiver = await tcpReceiver((socket) => socket.on("data", () => {}).write(greeting));
    sending = sender();
    const result = await sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));
    await expectRefused("receiver does not speak TLS on this port", result);
  });

  test("a connection that closes during the handshake is told apart", async () => {
    receiver = await tcpReceiver((socket) => socket.resume().end());
    sending = sender();
    const result = await sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));
    await expectRefused("connection closed during the TLS handshake", result);
  });

  test("a port that nobody listens on is told apart", async () => {
    receiver = await tcpReceiver(() => {});
    await receiver.close();
    sending = sender();
    const result = await sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));
    await expectRefused("connection refused", result);
    receiver = await tcpReceiver(() => {});
  });
});
