import { once } from "node:events";
import type { RequestListener } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createBoundedServer } from "@herald/common/runtime/bounded-server";
import { eventually } from "@herald/dev/harness/eventually";
import { afterEach, expect, test } from "@jest/globals";

let end = async () => {};
afterEach(() => end());

/** A server, and how to send it text from an address of this machine. */
async function start(listener: RequestListener, bounds: Parameters<typeof createBoundedServer>[1]) {
  const server = createBoundedServer(listener, bounds);
  server.listen(0, "0.0.0.0");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  end = async () => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return async (localAddress: string, text = REQUEST): Promise<Socket> => {
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    sockets.push(socket);
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.write(text);
    return socket;
  };
}

const REQUEST = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
/** More than the kernel takes for a client that reads nothing. */
const LARGE = Buffer.alloc(16 * 1_024 * 1_024);

test("regression: of 1,500 requests that one connection sends at once, 16 begin and the connection is closed", async () => {
  let begun = 0;
  const open = await start(() => begun++, {});
  const greedy = await open("127.0.0.1", REQUEST.repeat(1_500));
  if (!greedy.destroyed) await once(greedy, "close");
  expect(begun).toBe(16);
});

test("requests that come together are answered in their order, up to sixteen", async () => {
  let count = 0;
  const open = await start((_request, response) => response.end(`answer ${++count};`), {});
  const client = await open("127.0.0.1", REQUEST.repeat(16));
  let text = "";
  client.on("data", (data) => {
    text += data;
  });
  await eventually(() => expect(text).toContain("answer 16;"));
  expect(text.match(/answer \d+/g)).toEqual(Array.from({ length: 16 }, (_, index) => `answer ${index + 1}`));
  // The bound is of what is under way, and not of all that the connection ever asks.
  client.write(REQUEST);
  await eventually(() => expect(text).toContain("answer 17;"));
});

test("regression: connections that ask for nothing shut no other client out: the oldest of the address with the most goes", async () => {
  const open = await start((_request, response) => response.end("ok"), { maxConnections: 3 });
  const other = await open("127.0.0.2");
  await once(other, "data");
  const idle = [await open("127.0.0.1"), await open("127.0.0.1")];
  for (const socket of idle) await once(socket, "data");
  const gone = once(idle[0] as Socket, "close");
  const late = await open("127.0.0.3");
  const [answer] = await once(late, "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
  await gone;
  expect([other.destroyed, idle[1]?.destroyed]).toEqual([false, false]);
});

test("regression: connections that read nothing of their answers shut no other client out", async () => {
  const answered: string[] = [];
  const open = await start(
    ({ socket }, response) => {
      answered.push(socket.remoteAddress ?? "");
      response.end(socket.remoteAddress === "127.0.0.1" ? LARGE : "ok");
    },
    { maxConnections: 3 },
  );
  for (let count = 0; count < 3; count++) (await open("127.0.0.1")).pause();
  await eventually(() => expect(answered).toHaveLength(3));
  const late = await open("127.0.0.2");
  const [answer] = await once(late, "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
});

test("an answer that makes no progress ends with its connection", async () => {
  const open = await start((_request, response) => response.end(LARGE), { stallMs: 200 });
  const stalled = await open("127.0.0.1");
  stalled.pause();
  // The client still reads bytes that are on their way; the rest never comes.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  let bytes = 0;
  stalled.on("data", (data) => {
    bytes += data.length;
  });
  stalled.resume();
  await once(stalled, "close");
  expect(bytes).toBeLessThan(LARGE.length);
});

test("a connection beyond the most is closed if all of the address with the most are at work, and room is made by one that ends", async () => {
  const answers: (() => void)[] = [];
  const open = await start((_request, response) => answers.push(() => response.end("ok")), { maxConnections: 3 });
  const atWork = [await open("127.0.0.1"), await open("127.0.0.1"), await open("127.0.0.1")];
  await eventually(() => expect(answers).toHaveLength(3));
  const refused = await open("127.0.0.2");
  if (!refused.destroyed) await once(refused, "close");
  expect(answers).toHaveLength(3);
  answers[0]?.();
  await once(atWork[0] as Socket, "data");
  await open("127.0.0.2");
  await eventually(() => expect(answers).toHaveLength(4));
});
