import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { eventually } from "@herald/dev/harness/eventually";
import { afterEach, expect, test } from "@jest/globals";
import express from "express";
import { breakOff, type Download, sendDownload } from "../src/http/download.ts";

const close: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const each of close.splice(0)) await each();
});

/** Serves a download, and says what became of it. */
async function serve(pieces: Download["pieces"], options?: { stallMs: number }) {
  const outcomes: string[] = [];
  const app = express();
  app.use(async (_request, response) => {
    const made = { type: "text/plain", fileName: "a.txt", pieces };
    try {
      await sendDownload(response, made, options);
      outcomes.push("resolved");
    } catch (error) {
      outcomes.push((error as Error).message);
      if (response.headersSent) breakOff(response);
    }
  });
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  return { port: (server.address() as AddressInfo).port, outcomes };
}

/** Asks as HTTP/1.0 does, where the end of the connection is the end of the answer. Says how the connection ended. */
function ask(port: number, { reads = true, onText = () => {} } = {}): Promise<{ text: string; ended: string }> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.write("GET / HTTP/1.0\r\n\r\n"));
    socket.setEncoding("utf8").on("data", (data: string) => {
      text += data;
      onText();
    });
    if (!reads) socket.pause();
    socket.on("end", () => resolve({ text, ended: "well" }));
    socket.on("error", ({ code }: NodeJS.ErrnoException) => resolve({ text, ended: code ?? "?" }));
  });
}

test("a download that can't be completed ends with a reset, which HTTP/1.0 and proxies that speak it see too", async () => {
  const { promise: hasArrived, resolve: arrived } = Promise.withResolvers<void>();
  const { port, outcomes } = await serve(async function* () {
    yield "the first piece\n";
    // Node takes a reset that comes together with text for an end.
    await hasArrived;
    throw new Error("no more");
  });
  expect((await ask(port, { onText: arrived })).ended).toBe("ECONNRESET");
  expect(outcomes).toEqual(["no more"]);
});

test("a download that fails before its first piece has sent nothing", async () => {
  // biome-ignore lint/correctness/useYield: it fails before.
  const { port, outcomes } = await serve(async function* () {
    throw new Error("nothing");
  });
  const asked = ask(port);
  await eventually(() => expect(outcomes).toEqual(["nothing"]));
  await close.pop()?.();
  expect((await asked).text).toBe("");
});

test("a whole download ends well", async () => {
  const { port } = await serve(async function* () {
    yield "a";
    yield "b";
  });
  const { text, ended } = await ask(port);
  expect([text.split("\r\n\r\n")[1], ended]).toEqual(["ab", "well"]);
  expect(text).toContain('filename="a.txt"');
});

test("a client that takes nothing for too long is broken off, and what was made for it ends", async () => {
  let isOver = false;
  const { port, outcomes } = await serve(
    async function* () {
      try {
        for (;;) yield "x".repeat(1_000_000);
      } finally {
        isOver = true;
      }
    },
    { stallMs: 100 },
  );
  void ask(port, { reads: false });
  await eventually(() => expect([isOver, outcomes]).toEqual([true, ["resolved"]]));
});

test("a download makes no piece before the one before it was taken", async () => {
  let made = 0;
  const { port } = await serve(async function* () {
    for (; made < 200; made++) yield "x".repeat(1_000_000);
  });
  const socket = connect(port, "127.0.0.1", () => socket.write("GET / HTTP/1.0\r\n\r\n"));
  socket.pause();
  let before = -1;
  await eventually(
    () => {
      const isStill = made === before && made > 0;
      before = made;
      expect(isStill).toBe(true);
    },
    { intervalMs: 200 },
  );
  expect(made).toBeLessThan(100);
  socket.destroy();
});
