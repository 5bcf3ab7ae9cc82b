import { randomBytes } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import { eventually } from "@herald/dev/harness/eventually";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { AttemptRequest } from "../../src/http/sender.ts";
import { type Receiver, rawReceiver, scriptedReceiver, tcpReceiver } from "./receivers.ts";
import { extraAuthorities, request, SHORT_DEADLINE_MS, type TestSender, through, tls, WAYS } from "./sending.ts";

describe.each(WAYS)("%s", (way) => {
  let receiver: Receiver;
  let sending: TestSender | undefined;

  // Even a slow machine reaches this deadline only if a receiver never ends.
  beforeEach(() => withDeadline(60_000));

  afterEach(async () => {
    await sending?.close();
    sending = undefined;
    await receiver.close();
  });

  async function withDeadline(deadlineMs: number): Promise<void> {
    await sending?.close();
    sending = await through(way, { extraAuthorities, deadlineMs });
  }

  function send(overrides: Partial<AttemptRequest> = {}) {
    return (sending as TestSender).send(request({ url: `https://receiver.test:${receiver.port}/`, ...overrides }));
  }

  /** The attempt's connection is closed by the sender, which is not yet closed itself. */
  async function expectFreed() {
    receiver.drain();
    await eventually(() => expect(receiver.open()).toBe(0));
  }

  /** Writes a head, and then until the other side takes no more; the function that it returns gives the bytes that went out. */
  function flood(socket: TLSSocket, piece: string | Buffer, head = ""): () => number {
    socket.write(head);
    const write = () => {
      while (socket.writable && socket.write(piece));
    };
    socket.on("drain", write);
    write();
    return () => socket.bytesWritten;
  }

  function drip(socket: TLSSocket, everyMs: number, piece: (index: number) => string) {
    let index = 0;
    const timer = setInterval(() => socket.writable && socket.write(piece(index++)), everyMs);
    socket.on("close", () => clearInterval(timer));
  }

  describe("a receiver that does not answer in time", () => {
    /** The attempt ends at a short deadline. A busy machine may not even connect before that: then the deadline is longer. */
    async function expectTimedOut(changes: Partial<AttemptRequest>) {
      let deadlineMs = SHORT_DEADLINE_MS;
      await withDeadline(deadlineMs);
      let result = await send(changes);
      while (!result.reached && deadlineMs < 20_000) {
        deadlineMs *= 4;
        await withDeadline(deadlineMs);
        result = await send(changes);
      }
      const errorSummary = `timed out after ${deadlineMs / 1_000} s`;
      expect(result).toMatchObject({ statusCode: 503, succeeded: false, errorSummary, reached: true });
      expect(result.durationMs).toBeGreaterThanOrEqual(deadlineMs - 1);
    }

    test.each<[string, () => Promise<Receiver>, Partial<AttemptRequest>?]>([
      ["says nothing", () => scriptedReceiver(tls, () => {})],
      ["never finishes its TLS handshake", () => tcpReceiver(() => {})],
      [
        "drips its headers",
        () => {
          const text = `HTTP/1.1 200 OK\r\nX-Long: ${"a".repeat(10_000)}`;
          return scriptedReceiver(tls, (socket) => drip(socket, 10, (index) => text[index] ?? "a"));
        },
      ],
      [
        "says again and again that it is at work",
        () => scriptedReceiver(tls, (socket) => drip(socket, 30, () => "HTTP/1.1 102 Processing\r\n\r\n")),
      ],
      [
        "never reads the request",
        () => rawReceiver(tls, (socket) => socket.pause()),
        { body: JSON.stringify("x".repeat(20_000_000)) },
      ],
    ])(
      "§8/timeout §2.2/503 a receiver that %s is left at the attempt's deadline",
      async (_what, start, changes = {}) => {
        receiver = await start();
        await expectTimedOut(changes);
        await expectFreed();
      },
    );
  });

  describe("a receiver that answers nonsense", () => {
    const INVALID = "response is not valid HTTP";
    const ENDED = "connection closed without a response";
    const LARGE = "response headers too large";
    const head = "HTTP/1.1 200 OK\r\n";
    type Answer = string | Buffer | ((socket: TLSSocket) => unknown);
    test.each<[string, string, Answer]>([
      [
        "floods with interim responses",
        "receiver sent no final response, only 1xx",
        (socket) => flood(socket, "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n".repeat(100)),
      ],
      ["sends one header that never ends", LARGE, (socket) => flood(socket, "a".repeat(65_536), `${head}X: `)],
      ["sends headers that never end", LARGE, (socket) => flood(socket, "X-Header: a\r\n".repeat(1_000), head)],
      ["sends the status 000", INVALID, "HTTP/1.1 000 What\r\nContent-Length: 2\r\n\r\nok"],
      ["sends a status of two digits", INVALID, "HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok"],
      [
        "sends two equal lengths that no number holds",
        INVALID,
        `${head}${`Content-Length: ${"9".repeat(20)}\r\n`.repeat(2)}\r\n`,
      ],
      [
        "sends two equal lengths and a space before a colon",
        INVALID,
        `${head}A : b\r\n${"Content-Length: 2\r\n".repeat(2)}\r\nok`,
      ],
      [
        "sends a list of equal lengths and chunks",
        INVALID,
        `${head}Content-Length: 2, 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      ],
      ["sends a list of two lengths", INVALID, `${head}Content-Length: 2, 1\r\n\r\nok`],
      ["sends a list with a gap", INVALID, `${head}Content-Length: 2,,2\r\n\r\nok`],
      [
        "sends two equal lengths and chunks",
        INVALID,
        `${head}${"Content-Length: 2\r\n".repeat(2)}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      ],
      ["sends a length that no number holds", INVALID, `${head}Content-Length: 99999999999999999999999\r\n\r\nok`],
      ["sends another protocol", INVALID, "220 mail.example ESMTP\r\n"],
      ["sends a space before a colon", INVALID, `${head}Server : x\r\n\r\n`],
      ["sends two lengths", INVALID, `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
      ["sends random bytes", INVALID, randomBytes(4_096)],
      ["closes the connection without a response", ENDED, (socket) => socket.end()],
      ["closes the connection within the headers", ENDED, (socket) => socket.end(`${head}X-Half`)],
      ["resets the connection", "connection reset", (socket) => receiver.reset(socket)],
    ])("a receiver that %s has not answered (%s), and is not asked again", async (_title, errorSummary, answer) => {
      receiver = await scriptedReceiver(tls, (socket) =>
        typeof answer === "function" ? answer(socket) : socket.write(answer),
      );
      expect(await send()).toMatchObject({ statusCode: 503, succeeded: false, errorSummary, responseExcerpt: null });
      expect(receiver.accepted()).toBe(1);
      await expectFreed();
    });

    test("a receiver that switches to another protocol has answered 101, which is a failure", async () => {
      const answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
      receiver = await scriptedReceiver(tls, (socket) => socket.write(answer));
      expect(await send()).toMatchObject({ statusCode: 101, succeeded: false, errorSummary: "receiver answered 101" });
      await expectFreed();
    });
  });

  describe("a receiver whose status came in time", () => {
    test.each([
      [200, true],
      [500, false],
    ])(
      "§4.2/outcome a receiver that answers %d has decided, although its body never ends",
      async (status, succeeded) => {
        const head = `HTTP/1.1 ${status} Yes\r\nTransfer-Encoding: chunked\r\n\r\n`;
        receiver = await scriptedReceiver(tls, (socket) => {
          socket.write(head);
          drip(socket, 20, () => "1\r\na\r\n");
        });
        const startedMs = performance.now();
        const result = await send();
        expect(result).toMatchObject({ statusCode: status, succeeded });
        expect(result.responseExcerpt).toMatch(/^a{1,60}$/);
        // A second went into the body, which is no part of the attempt's duration.
        expect(performance.now() - startedMs - result.durationMs).toBeGreaterThanOrEqual(990);
        await expectFreed();
      },
    );

    test("§4.2/outcome a receiver has decided by its status, although no byte of its body ever comes", async () => {
      receiver = await scriptedReceiver(tls, (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"));
      expect(await send()).toMatchObject({ statusCode: 200, succeeded: true, responseExcerpt: null });
      await expectFreed();
    });

    test("§4.2/outcome a receiver has decided by its status, although its body has no end; little more than 64 KiB of it is read", async () => {
      let sent = () => 0;
      receiver = await scriptedReceiver(tls, (socket) => {
        sent = flood(socket, "b".repeat(16_384), "HTTP/1.1 200 OK\r\n\r\n");
      });
      expect(await send()).toMatchObject({ statusCode: 200, succeeded: true, responseExcerpt: "b".repeat(1024) });
      await expectFreed();
      // The rest was in flight, in the buffers of both kernels.
      expect(sent()).toBeLessThan(32 * 1024 * 1024);
    });

    test("§4.2/outcome a receiver has decided by its status, although its body is a gzip bomb", async () => {
      const bomb = gzipSync(Buffer.alloc(50_000_000));
      const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`;
      receiver = await scriptedReceiver(tls, (socket) => {
        socket.write(head);
        socket.write(bomb);
      });
      const before = process.memoryUsage().arrayBuffers;
      expect(await send()).toMatchObject({ statusCode: 200, succeeded: true, responseExcerpt: null });
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
    });

    test.each([
      ["breaks off within its body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", "half"],
      ["has a bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", null],
      ["sends a body with 204", "HTTP/1.1 204 No Content\r\n\r\nsurprise", null],
      ["sends a second response", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\n\r\n", "ok"],
      ["closes behind its response", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok", "ok"],
      ["speaks HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nok", "ok"],
      [
        "says that it is at work first",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok",
        "ok",
      ],
      ["has NUL in its body", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\na\0b", "a\uFFFDb"],
      ["has no reason phrase", "HTTP/1.1 200\r\nConnection: close\r\n\r\nok", "ok"],
    ])("§4.2/outcome a receiver has decided by its status, although it %s", async (_title, answer, responseExcerpt) => {
      receiver = await scriptedReceiver(tls, (socket) => socket.end(answer));
      expect(await send()).toMatchObject({ succeeded: true, errorSummary: null, responseExcerpt });
      await expectFreed();
    });

    test("§4.2/outcome a receiver has decided by its status, although it never read the request", async () => {
      receiver = await rawReceiver(tls, (socket) => {
        socket.pause();
        socket.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
      });
      expect(await send({ body: JSON.stringify("x".repeat(20_000_000)) })).toMatchObject({
        statusCode: 413,
        responseExcerpt: "no",
      });
      await expectFreed();
    });
  });

  describe("§4.2/outcome an answer whose status and length can be read", () => {
    const head = "HTTP/1.1 200 OK\r\n";
    const end = "Content-Length: 2\r\n\r\nok";
    const chunked = "\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    /** Answers that break HTTP, after which the connection is closed. */
    test.each<[string, string]>([
      ["ends its lines with LF alone", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok"],
      ["ends one header with LF alone", `${head}X-A: b\n${end}`],
      ["has a version that does not exist", `HTTP/9.9 200 OK\r\n${end}`],
      ["has a folded header", `${head}X-A: b\r\n  c\r\n${end}`],
      ["has a control character in a header", `${head}X-A: b\u0001c\r\n${end}`],
      ["has an escape sequence in a header", `${head}X-A: \u001b[0m\r\n${end}`],
      ["has NUL in a header", `${head}X-A: a\0b\r\n${end}`],
      ["has a length and chunks", `${head}Content-Length: 2\r\nTransfer-Encoding: chunked${chunked}`],
      ["has one length twice", `${head}content-length:  2 \r\nContent-Length: 2\r\n\r\nok`],
      ["has one length twice in a line", `${head}Content-Length: 2, 2\r\n\r\nok`],
      ["has one length in a line and in the next", `${head}Content-Length: 2,2\r\nContent-Length: 2\r\n\r\nok`],
      [
        "has one length three times, after 103",
        `HTTP/1.1 103 Early Hints\r\n\r\n${head}${"Content-Length: 2\r\n".repeat(3)}\r\nok`,
      ],
      ["has chunks twice", `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked${chunked}`],
      ["has no content, and its chunks to come", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"],
      ["has no content, and its length to come", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n"],
    ])("is an answer if it %s, and the last one of its connection", async (_title, answer) => {
      receiver = await scriptedReceiver(tls, (socket) => socket.write(answer, "latin1"));
      for (let attempt = 1; attempt <= 2; attempt++) {
        expect(await send()).toMatchObject({ succeeded: true, errorSummary: null });
        expect(receiver.accepted()).toBe(attempt);
      }
      await expectFreed();
    });

    test.each<[string, string, (string | null)?]>([
      ["has cookies of 17 KB", `${head}${`Set-Cookie: c=${"a".repeat(3_500)}\r\n`.repeat(5)}${end}`],
      ["has a header of 60 KB", `${head}X: ${"a".repeat(60_000)}\r\n${end}`],
      ["has 2,001 headers", `${head}${"A: b\r\n".repeat(2_001)}${end}`],
      ["has Latin-1 in a header", `${head}X-A: \u00fc\u00ff\r\n${end}`],
      ["has an empty header", `${head}X-A:\r\n${end}`],
      ["has a reason in UTF-8", `HTTP/1.1 200 Gr\u00c3\u00b6\u00c3\u009fe\r\n${end}`],
      ["has trailers", `${head}Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n`],
      ["offers an upgrade", `${head}Connection: Upgrade, Keep-Alive\r\nUpgrade: h2,h2c\r\n${end}`],
      ["has a length of 0 and no content", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", null],
      ["says 100 first", `HTTP/1.1 100 Continue\r\n\r\n${head}${end}`],
      ["says 103 first", `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${head}${end}`],
    ])("serves the next attempt over the same connection if it %s", async (_title, answer, responseExcerpt = "ok") => {
      receiver = await scriptedReceiver(tls, (socket) => socket.write(answer, "latin1"));
      for (let attempt = 1; attempt <= 2; attempt++) {
        expect(await send()).toMatchObject({ succeeded: true, responseExcerpt });
      }
      expect(receiver.accepted()).toBe(1);
    });
  });

  test("100 attempts at once are all connected before any of them is answered", async () => {
    const waiting: TLSSocket[] = [];
    receiver = await scriptedReceiver(tls, (socket) => {
      waiting.push(socket);
      if (waiting.length < 100) return;
      for (const each of waiting) each.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    const results = await Promise.all(Array.from({ length: 100 }, () => send()));
    expect(results.every(({ succeeded }) => succeeded)).toBe(true);
    expect(receiver.accepted()).toBe(100);
  });
});
