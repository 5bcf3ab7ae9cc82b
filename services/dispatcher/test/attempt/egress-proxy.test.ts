import { setImmediate as turn } from "node:timers/promises";
import { addressRules } from "@herald/common/security/address-guard";
import { nameServer } from "@herald/dev/harness/name-server";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { createEgressProxy } from "../../src/http/egress-proxy.ts";
import { createProbe, type ProbeResult } from "../../src/outage/probe.ts";
import { type ConnectProxy, connectProxy, type Receiver, wellBehavedReceiver } from "./receivers.ts";
import { extraAuthorities, request, sender, type TestSender, tls } from "./sending.ts";

let receiver: Receiver;
let proxy: ConnectProxy;
let sending: TestSender | undefined;

beforeAll(async () => {
  receiver = await wellBehavedReceiver(tls);
  proxy = await connectProxy();
});
afterEach(async () => {
  await sending?.close();
  proxy.answerWith(undefined);
  proxy.openWith();
  proxy.asked.length = 0;
});
afterAll(async () => {
  await Promise.all([receiver.close(), proxy.close()]);
});

const urlOf = (credentials = "") => `http://${credentials}127.0.0.1:${proxy.port}`;

function send(url = urlOf(), host = "receiver.test", port = receiver.port) {
  const addresses = addressRules({ ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8" });
  sending ??= sender({ extraAuthorities, addresses, proxy: createEgressProxy(url), deadlineMs: 60_000 });
  // If the proxy saw it, it would be found in place of the proxy's own.
  const ownHeaders = ["Authorization", "of the receiver"];
  return sending.send(request({ url: `https://${host}:${port}/`, ownHeaders }));
}
afterEach(() => {
  sending = undefined;
});

describe("through an egress proxy", () => {
  test("attempts share a tunnel, which is to the judged address, with the credentials of the setting and no own header", async () => {
    for (let i = 0; i < 3; i++) expect(await send(urlOf("us%40er:p%3Ass@"))).toMatchObject({ statusCode: 200 });
    const authorization = `Basic ${Buffer.from("us@er:p:ss").toString("base64")}`;
    expect(proxy.asked).toEqual([{ authority: `127.0.0.1:${receiver.port}`, authorization }]);
  });

  test("the certificate has to be for the receiver's name", async () => {
    expect(await send(urlOf(), "other.test")).toMatchObject({ errorSummary: "certificate is for another name" });
  });

  test("the proxy may have a private address, and receivers may not", async () => {
    sending = sender({ addresses: addressRules({}), proxy: createEgressProxy(urlOf()) });
    expect(await send()).toMatchObject({ failureKind: "address_blocked" });
    expect(proxy.asked).toEqual([]);
  });

  test("the next address of a name is tried if the proxy does not reach the first", async () => {
    const addresses = addressRules({ ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8" });
    const resolve = async () => ["127.0.0.2", "127.0.0.1"].map((address) => ({ address, family: 4 }));
    sending = sender({ extraAuthorities, addresses, resolve, proxy: createEgressProxy(urlOf()), deadlineMs: 60_000 });
    expect(await send()).toMatchObject({ statusCode: 200 });
    expect(proxy.asked).toHaveLength(2);
  });

  test.each(["\r\nX: a\x01b\r\n\r\n", "\r\nX: a\r\n b\r\n\r\n", "\r\nContent-Length: 5\r\n\r\n", "\n\n"])(
    "a tunnel is used whatever the proxy writes after its 200: %j",
    async (rest) => {
      proxy.openWith(`HTTP/1.1 200 OK${rest}`);
      expect(await send()).toMatchObject({ statusCode: 200 });
    },
  );

  const ours = { failureKind: "proxy_failed", errorSummary: "egress proxy failed", statusCode: 503, reached: false };
  const theirs = (failureKind: string) => ({ failureKind, statusCode: 503, reached: false });
  test.each<[string, object, ProbeResult, boolean]>([
    ["HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", ours, "failed", false],
    ["HTTP/1.1 403 Forbidden\r\n\r\n", ours, "failed", true],
    ["HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1/\r\n\r\n", ours, "failed", true],
    ["HTTP/1.1 200 OK\r\n\r\nthe proxy's own words", ours, "failed", true],
    ["SSH-2.0-OpenSSH\r\n", ours, "failed", false],
    [`HTTP/1.1 200 OK\r\nX: ${"a".repeat(100_000)}\r\n\r\n`, ours, "failed", false],
    ["HTTP/1.1 502 Bad Gateway\r\n\r\n", theirs("connection_refused"), "failed", true],
    ["HTTP/1.1 503 Service Unavailable\r\n\r\n", theirs("connection_refused"), "failed", true],
    ["HTTP/1.1 504 Gateway Timeout\r\n\r\n", theirs("connection_timed_out"), "failed", true],
  ])("an answer of %j to CONNECT", async (answer, expected, probed, works) => {
    proxy.answerWith(answer);
    expect(await send(urlOf("user:hunter2@"))).toMatchObject(expected);
    const through = createEgressProxy(urlOf());
    const probe = createProbe({ addresses: addressRules({ ALLOWED_PRIVATE_NETWORKS: "127.0.0.1" }), proxy: through });
    expect(await probe.reach("connections", { host: "127.0.0.1", port: receiver.port })).toBe(probed);
    expect(await probe.isWayOpen()).toBe(works);
  });

  test.each([150, 6_000, 15_000, 60_000])(
    "a silent proxy differs from a silent receiver before an attempt's %d ms are over",
    async (deadlineMs) => {
      proxy.answerWith("");
      jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask"] });
      try {
        sending = sender({ proxy: createEgressProxy(urlOf()), deadlineMs });
        const sent = send();
        while (proxy.asked.length === 0) await turn();
        await jest.advanceTimersByTimeAsync(deadlineMs);
        expect(await sent).toMatchObject({ ...ours, durationMs: Math.round((deadlineMs * 2) / 3) });
      } finally {
        jest.useRealTimers();
      }
    },
  );

  test("a proxy that is down is a fault of Herald's, and its probe fails until it is back", async () => {
    const gone = await connectProxy();
    await gone.close();
    expect(await send(`http://user:hunter2@127.0.0.1:${gone.port}`)).toMatchObject(ours);
    const names = await nameServer();
    const probe = createProbe({
      addresses: addressRules({}),
      servers: [names.address],
      proxy: createEgressProxy(urlOf()),
    });
    expect(await probe.isWayOpen()).toBe(true);
    proxy.answerWith("HTTP/1.1 407 No\r\n\r\n");
    expect(await probe.isWayOpen()).toBe(false);
    await names.close();
  });

  test.each([
    "proxy:3128",
    "https://proxy",
    "socks5://proxy",
    "http://u:hunter2@proxy/path",
    "http://u:hunter2@proxy?x",
  ])("%s is no proxy, and the error repeats nothing of it", (url) =>
    expect(() => createEgressProxy(url)).toThrow(/^must be http:\/\/host:port, or http:\/\/user:password@host:port$/),
  );

  test.each(["http://u:hunter%2@proxy", "http://%zz:hunter2@proxy"])("%s has a % that escapes nothing", (url) =>
    expect(() => createEgressProxy(url)).toThrow(/^must have each % .* hexadecimal digits: % itself is %25$/),
  );
});
