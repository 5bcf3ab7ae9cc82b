import { connect, type Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, describe, expect, test } from "@jest/globals";
import { type Receiver, tcpReceiver, wellBehavedReceiver } from "./receivers.ts";
import { authority, extraAuthorities, NOW, request, type TestSender, through, tls, WAYS } from "./sending.ts";

/** A ClientHello, as much of it as what stands before receivers looks at. */
interface Hello {
  bytes: number;
  offersSession: boolean;
  /** Groups of key exchanges, by their numbers. */
  groups: number[];
}

/** What a front does with a handshake: passes it on, resets or closes the connection, says nothing, or answers with bytes. */
type Reaction = "passes" | "resets" | "closes" | "hangs" | Buffer;

/** The code of RFC 8446 6 for an alert, as a record. */
const alert = (code: number) => Buffer.from([21, 3, 3, 0, 2, 2, code]);
const [HANDSHAKE_FAILURE, DECODE_ERROR, PROTOCOL_VERSION, INTERNAL_ERROR, UNRECOGNIZED_NAME] = [
  40, 50, 70, 80, 112,
].map(alert) as [Buffer, Buffer, Buffer, Buffer, Buffer];

const GROUPS = 10;
const TICKET = 35;
const SHARED_KEY = 41;

function readHello(hello: Buffer): Hello {
  const read: Hello = { bytes: hello.length, offersSession: false, groups: [] };
  // Record, handshake, version and random; then the session's id, the ciphers and the compressions, each with its length.
  let at = 5 + 4 + 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  for (at += 2; at + 4 <= hello.length; ) {
    const [type, length] = [hello.readUInt16BE(at), hello.readUInt16BE(at + 2)];
    if (type === SHARED_KEY || (type === TICKET && length > 0)) read.offersSession = true;
    for (let group = at + 6; type === GROUPS && group < at + 4 + length; group += 2)
      read.groups.push(hello.readUInt16BE(group));
    at += 4 + length;
  }
  return read;
}

/** Those of the old groups, and those of OpenSSL 3.0: a front of ten years ago knows no others. */
const KNOWN_GROUPS = [23, 24, 25, 29, 30, 256, 257, 258, 259, 260];
const hasUnknownGroup = ({ groups }: Hello) => groups.some((group) => !KNOWN_GROUPS.includes(group));
/** Less than the usual 1,500 bytes of a packet, with the heads of TCP and IP. */
const PACKET_BYTES = 1_400;
const isBig = ({ bytes }: Hello) => bytes > PACKET_BYTES;

const OPEN: Receiver[] = [];
let sending: TestSender;
afterEach(async () => {
  await sending.close();
  await Promise.all(OPEN.splice(0).map((receiver) => receiver.close()));
});

async function behindFront(behind: Receiver, react: (hello: Hello, nth: number) => Reaction) {
  const hellos: Hello[] = [];
  const front = await tcpReceiver((socket) => {
    socket.once("data", (bytes) => {
      const hello = readHello(bytes);
      const reaction = react(hello, hellos.push(hello));
      if (reaction === "passes") pipe(socket, bytes, behind.port);
      else if (reaction === "resets") socket.resetAndDestroy();
      else if (reaction === "closes") socket.end();
      else if (reaction !== "hangs") socket.end(reaction);
    });
  });
  OPEN.push(behind, front);
  return { url: `https://receiver.test:${front.port}/`, hellos };
}

function pipe(socket: Socket, first: Buffer, port: number): void {
  const onward = connect({ host: "127.0.0.1", port });
  onward.on("error", () => socket.destroy());
  onward.on("close", () => socket.destroy());
  socket.on("close", () => onward.destroy());
  onward.write(first);
  socket.pipe(onward).pipe(socket);
}

/** Answers each connection once, and so leaves the next attempt to a new one. */
const receiverWith = (options: TlsOptions = {}, status = 200) =>
  wellBehavedReceiver({ ...tls, ...options }, (_request, response) =>
    response.writeHead(status, { Connection: "close" }).end("ok"),
  );

const onTls12: TlsOptions = { maxVersion: "TLSv1.2" };
const otherName: TlsOptions = await authority.issue({ names: ["other.test"] });
const onlyFirst =
  (reaction: Reaction) =>
  (_hello: Hello, nth: number): Reaction =>
    nth === 1 ? reaction : "passes";
const onTls13: TlsOptions = { minVersion: "TLSv1.3" };

describe.each(WAYS)("handshakes, %s", (way) => {
  // Each front breaks what the sender begins with. Which that is depends on the version of OpenSSL.
  test.each<[string, (hello: Hello) => Reaction, TlsOptions?]>([
    ["resets a hello with a group that it does not know", (hello) => (hasUnknownGroup(hello) ? "resets" : "passes")],
    ["closes at a group that it does not know", (hello) => (hasUnknownGroup(hello) ? "closes" : "passes")],
    ["fails at a group that it does not know", (hello) => (hasUnknownGroup(hello) ? HANDSHAKE_FAILURE : "passes")],
    ["resets a hello of two packets", (hello) => (isBig(hello) ? "resets" : "passes")],
    ["closes at a hello of two packets", (hello) => (isBig(hello) ? "closes" : "passes")],
    ["can't decode a hello of two packets", (hello) => (isBig(hello) ? DECODE_ERROR : "passes")],
    ["finds no host name in the first of two packets", (hello) => (isBig(hello) ? UNRECOGNIZED_NAME : "passes")],
    ["resets a hello of two packets, of TLS 1.2", (hello) => (isBig(hello) ? "resets" : "passes"), onTls12],
    ["resets a session of TLS 1.2", ({ offersSession }) => (offersSession ? "resets" : "passes"), onTls12],
    ["closes at a session of TLS 1.3", ({ offersSession }) => (offersSession ? "closes" : "passes"), onTls13],
    ["fails at a session", ({ offersSession }) => (offersSession ? INTERNAL_ERROR : "passes")],
    ["passes all", () => "passes"],
    ["knows one new group alone", () => "passes", { ecdhCurve: "P-521" }],
  ])(
    "regression: a front that %s gets each attempt at once, and is remembered from the second one on",
    async (...[, react, options]) => {
      const behind = await receiverWith(options);
      const { url, hellos } = await behindFront(behind, react);
      sending = await through(way, { extraAuthorities });
      for (let attempt = 0; attempt < 8; attempt++)
        expect(await sending.send(request({ url }))).toMatchObject({ statusCode: 200 });
      expect(behind.requests).toHaveLength(8);
      const broken = hellos.map((hello) => react(hello) !== "passes");
      expect(broken.filter(Boolean)).toHaveLength(broken.includes(true) ? 2 : 0);
      expect(hellos).toHaveLength(8 + broken.filter(Boolean).length);
    },
  );

  test.each<[string, (hello: Hello, nth: number) => Reaction, Parameters<typeof receiverWith>, object]>([
    ["resets all", () => "resets", [], { errorSummary: "connection reset", reached: true }],
    ["closes all", () => "closes", [], { errorSummary: "connection closed during the TLS handshake" }],
    ["fails at all", () => HANDSHAKE_FAILURE, [], { errorSummary: "TLS handshake failed" }],
    ["speaks TLS 1.1", () => PROTOCOL_VERSION, [], { errorSummary: "receiver does not support TLS 1.2 or later" }],
    ["knows another name", () => UNRECOGNIZED_NAME, [], { errorSummary: "receiver does not know this host name" }],
    // The more telling of the two.
    [
      "resets once, then says why",
      (_hello, nth) => (nth === 1 ? "resets" : PROTOCOL_VERSION),
      [],
      { errorSummary: "receiver does not support TLS 1.2 or later" },
    ],
    [
      "says why, then resets",
      (_hello, nth) => (nth === 1 ? UNRECOGNIZED_NAME : "resets"),
      [],
      { failureKind: "tls_name_unknown" },
    ],
    ["resets once before an answer of 500", onlyFirst("resets"), [{}, 500], { statusCode: 500 }],
    [
      "resets once before a certificate for another name",
      onlyFirst("resets"),
      [otherName],
      { errorSummary: "certificate is for another name" },
    ],
    [
      "closes once before a question for a certificate",
      onlyFirst("closes"),
      [{ requestCert: true, ca: authority.cert }],
      { errorSummary: "receiver asks for a client certificate" },
    ],
    [
      "resets once, and knows one new group",
      onlyFirst("resets"),
      [{ ecdhCurve: "P-521" }],
      { errorSummary: "TLS handshake failed" },
    ],
  ])("a front that %s is tried twice, and says what helps most", async (_title, react, behind, expected) => {
    const { url, hellos } = await behindFront(await receiverWith(...behind), react);
    sending = await through(way, { extraAuthorities });
    expect(await sending.send(request({ url }))).toMatchObject({ succeeded: false, ...expected });
    expect(hellos).toHaveLength(2);
  });

  test("a receiver that broke one handshake by chance is offered everything at its next one", async () => {
    const { url, hellos } = await behindFront(await receiverWith({ ecdhCurve: "P-521" }), onlyFirst("resets"));
    sending = await through(way, { extraAuthorities });
    expect(await sending.send(request({ url }))).toMatchObject({ succeeded: false });
    expect(await sending.send(request({ url }))).toMatchObject({ succeeded: true });
    expect(hellos).toHaveLength(3);
  });

  test("a receiver that took the small hello alone, and now takes the whole one alone, gets its attempt", async () => {
    let takesSmall = true;
    const { url, hellos } = await behindFront(await receiverWith(), ({ groups }) =>
      (groups.length === 3) === takesSmall ? "passes" : "resets",
    );
    sending = await through(way, { extraAuthorities });
    for (let attempt = 0; attempt < 3; attempt++)
      expect(await sending.send(request({ url }))).toMatchObject({ succeeded: true });
    takesSmall = false;
    for (let attempt = 0; attempt < 3; attempt++)
      expect(await sending.send(request({ url }))).toMatchObject({ succeeded: true });
    expect(hellos.map(({ groups }) => groups.length === 3)).toEqual([
      false,
      true,
      false,
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  test("the second handshake has the rest of the time, and the first one's words if that is over", async () => {
    const clock = steeredClock(NOW);
    const { url, hellos } = await behindFront(await receiverWith(), (_hello, nth) => {
      clock.advance(nth === 1 ? 599_900 : 0);
      return nth === 1 ? "resets" : "hangs";
    });
    sending = await through(way, { extraAuthorities, clock, deadlineMs: 600_000 });
    expect(await sending.send(request({ url }))).toMatchObject({
      errorSummary: "connection reset",
      durationMs: 599_900,
    });
    expect(hellos.length).toBeLessThanOrEqual(2);
  });

  test("a port that speaks no TLS is tried once", async () => {
    const port = await tcpReceiver((socket) => socket.once("data", () => socket.write("220 mail.example ESMTP\r\n")));
    OPEN.push(port);
    sending = await through(way, { extraAuthorities });
    const result = await sending.send(request({ url: `https://receiver.test:${port.port}/` }));
    expect(result).toMatchObject({ errorSummary: "receiver does not speak TLS on this port" });
    expect(port.accepted()).toBe(1);
  });
});
