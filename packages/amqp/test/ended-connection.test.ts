import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { inbox, until } from "@herald/dev/harness/client-environment";
import { useBroker } from "@herald/dev/harness/use-broker";
import { expect, test } from "@jest/globals";
import { messageTo, useScopeEnvironment } from "./use-scope-environment.ts";

const server = useBroker();
const environment = useScopeEnvironment(() => server.url);

const OPEN_OK = frameOf(41, Buffer.from([0]));
/** 320, CONNECTION_FORCED, as a broker says it that is being stopped. */
const CLOSE = frameOf(50, Buffer.concat([Buffer.from([1, 64]), shortString("CONNECTION_FORCED"), Buffer.alloc(4)]));

/** A method of a connection. */
function frameOf(method: number, values: Buffer): Buffer {
  const payload = Buffer.concat([Buffer.from([0, 10, 0, method]), values]);
  return Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, payload.length]), payload, Buffer.from([0xce])]);
}

function shortString(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
}

/** A way to the broker that ends the first connections in the moment in which they are open, in the same packet. */
async function startEndingProxy(count: number) {
  let connections = 0;
  const listener = createServer((client) => {
    connections += 1;
    const ends = connections <= count;
    const broker = connect(Number(new URL(server.url).port), "127.0.0.1");
    client.on("data", (bytes) => broker.write(bytes));
    broker.on("data", (bytes) => {
      const isOpen = ends && bytes.includes(OPEN_OK);
      client.write(isOpen ? Buffer.concat([bytes, CLOSE]) : bytes);
    });
    for (const [one, other] of [
      [client, broker],
      [broker, client],
    ] as const) {
      one.on("error", () => {});
      one.on("close", () => other.destroy());
    }
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = new URL(server.url);
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    connections: () => connections,
    close: () => new Promise((resolve) => listener.close(resolve)),
  };
}

test("a connection that the broker ends as it opens it is made again", async () => {
  const proxy = await startEndingProxy(2);
  const scope = environment.connect({ url: proxy.url });
  const got = inbox();
  scope.consume({ queue: environment.names.queue, prefetch: 10, handle: got.handle });
  await scope.publisher({ timeoutMs: 100_000 }).publish(messageTo(environment.names.queue, "late"));
  await until("the message came", () => got.messages.length === 1);
  got.messages[0]?.ack();
  // Consuming and publishing have a connection each.
  expect(proxy.connections()).toBeGreaterThan(2);
  expect(environment.logged.filter(({ level }) => level === "warn")).not.toHaveLength(0);
  void proxy.close();
});
