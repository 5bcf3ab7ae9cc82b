import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { Resolve } from "@herald/common/security/address-guard";
import { addressRules } from "@herald/common/security/address-guard";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type Receiver, tcpReceiver, wellBehavedReceiver } from "./receivers.ts";
import {
  countConnects,
  extraAuthorities,
  request,
  SHORT_DEADLINE_MS,
  sender,
  type TestSender,
  through,
  tls,
  WAYS,
} from "./sending.ts";

/** Hosts that are not public, as a URL can hold them: some of them. The tests of the guard itself have all. */
const HOSTS = ["127.1", "169.254.169.254", "[::ffff:127.0.0.1]", "ⓛocalhost"];

const BLOCKED = { statusCode: 503, succeeded: false, errorSummary: "address not allowed", responseExcerpt: null };

describe.each(WAYS)("%s", (way) => {
  /** Listens on all of this machine's addresses, to catch every connection that the guard lets through. */
  let trap: Receiver;
  /** One sender for all tests: making one reads all root certificates, which takes long. */
  let sending: TestSender;
  let answer: LookupAddress[];
  let asked: string[];

  const resolve: Resolve = async (name) => {
    asked.push(name);
    return answer;
  };

  beforeAll(async () => {
    trap = await tcpReceiver((socket) => socket.resume(), "::");
    sending = await through(way, { deadlineMs: 60_000, addresses: addressRules({}), resolve });
  });

  beforeEach(() => {
    answer = [];
    asked = [];
  });

  afterAll(async () => {
    await sending.close();
    await trap.close();
  });

  const inDns = (...addresses: string[]): LookupAddress[] =>
    addresses.map((address) => ({ address, family: isIP(address) }));

  async function expectBlocked(host: string) {
    const connects = await countConnects(async () => {
      expect(await sending.send(request({ url: `https://${host}:${trap.port}/` }))).toMatchObject(BLOCKED);
    });
    expect(connects).toBe(0);
    expect(trap.accepted()).toBe(0);
  }

  test.each(HOSTS)("§2.1.3 %s reaches no socket, and no name server", async (host) => {
    await expectBlocked(host);
    expect(asked).toEqual([]);
  });

  test("§2.1.3 a name that resolves to an address that is not public reaches no socket", async () => {
    answer = inDns("::ffff:127.0.0.1");
    await expectBlocked("receiver.test");
    expect(asked).toEqual(["receiver.test"]);
  });

  describe("by rebinding", () => {
    // The open address stands for a public one: tests send nothing off this machine.
    const addresses = addressRules({ ALLOWED_PRIVATE_NETWORKS: "127.0.0.1" });

    test("§2.1.3 a name that turns private between attempts is blocked at the next connection", async () => {
      const receiver = await wellBehavedReceiver(tls, (_request, response) =>
        response.writeHead(200, { connection: "close" }).end(),
      );
      const onOtherAddress = await tcpReceiver((socket) => socket.resume(), "127.0.0.2", receiver.port);
      const answers = ["127.0.0.1", "127.0.0.2", "::1", "10.0.0.1", "127.0.0.1"];
      const resolve: Resolve = async () => inDns(answers.shift() as string);
      const sending = await through(way, { extraAuthorities, addresses, resolve });
      const send = () => sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));

      expect(await send()).toMatchObject({ statusCode: 200 });
      const connects = await countConnects(async () => {
        for (let i = 0; i < 3; i++) expect(await send()).toMatchObject(BLOCKED);
      });
      expect(connects).toBe(0);
      expect(await send()).toMatchObject({ statusCode: 200 });

      expect(onOtherAddress.accepted()).toBe(0);
      await sending.close();
      await receiver.close();
      await onOtherAddress.close();
    });

    test("§2.1.3 a connection goes to the very address that was checked: the name is asked for once", async () => {
      const receiver = await wellBehavedReceiver(tls);
      const asked: string[] = [];
      const resolve: Resolve = async (name) => {
        asked.push(name);
        return inDns(asked.length === 1 ? "127.0.0.1" : "127.0.0.2");
      };
      const sending = await through(way, { extraAuthorities, addresses, resolve });
      const send = () => sending.send(request({ url: `https://receiver.test:${receiver.port}/` }));
      const connects = await countConnects(async () => {
        expect(await send()).toMatchObject({ statusCode: 200 });
        expect(await send()).toMatchObject({ statusCode: 200 });
      });
      // The proxy of these tests runs in this process, and connects onward.
      expect(connects).toBe(way === "straight" ? 1 : 2);
      expect(asked).toEqual(["receiver.test"]);
      await sending.close();
      await receiver.close();
    });
  });

  describe("by URL", () => {
    test.each(["http://receiver.test/", "https://user:password@receiver.test/", "https://[::1/"])(
      "§2.1.1 %p is not sent to",
      async (url) => {
        const connects = await countConnects(async () => {
          const errorSummary = "endpoint URL is not a plain https URL";
          expect(await sending.send(request({ url }))).toMatchObject({
            statusCode: 503,
            succeeded: false,
            errorSummary,
          });
        });
        expect(connects).toBe(0);
      },
    );

    // got has a notation of its own for them.
    test("§2.1.1 socket files are not sent to", async () => {
      answer = inDns("127.0.0.1");
      expect(await sending.send(request({ url: "https://unix:/var/run/docker.sock:/" }))).toMatchObject({
        statusCode: 503,
      });
      expect(await sending.send(request({ url: "https://unix/var/run/docker.sock:/" }))).toMatchObject({
        statusCode: 503,
      });
    });
  });
});

describe("name look-up", () => {
  let sending: TestSender;

  afterEach(() => sending.close());

  async function send(resolve: Resolve, deadlineMs = SHORT_DEADLINE_MS) {
    sending = sender({ resolve, deadlineMs });
    let result: Awaited<ReturnType<TestSender["send"]>> | undefined;
    const connects = await countConnects(async () => {
      result = await sending.send(request());
    });
    expect(connects).toBe(0);
    return result;
  }

  test("§2.2/503 a name that is not found is recorded as 503", async () => {
    const failed = { statusCode: 503, succeeded: false, errorSummary: "host not found" };
    const resolve = (name: string) =>
      Promise.reject(Object.assign(new Error(`queryA ENOTFOUND ${name}`), { code: "ENOTFOUND" }));
    expect(await send(resolve, 60_000)).toMatchObject(failed);
  });

  test("§8/timeout a name look-up that never ends is ended by the attempt's deadline", async () => {
    expect(await send(() => new Promise(() => {}))).toMatchObject({
      statusCode: 503,
      errorSummary: "timed out after 0.4 s",
    });
  });

  test("a name that resolves after the deadline leads to no connection", async () => {
    const { promise: late, resolve: answer } = Promise.withResolvers<LookupAddress[]>();
    expect(await send(() => late)).toMatchObject({ errorSummary: "timed out after 0.4 s" });
    const connects = await countConnects(async () => {
      answer([{ address: "127.0.0.1", family: 4 }]);
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    });
    expect(connects).toBe(0);
  });
});
