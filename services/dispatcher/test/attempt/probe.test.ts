import { addressRules } from "@herald/common/security/address-guard";
import { type NameAnswer, type NameServer, NO_ROUTE, nameServer } from "@herald/dev/harness/name-server";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createProbe, type Probe, type ProbeResult } from "../../src/outage/probe.ts";
import { type Receiver, tcpReceiver } from "./receivers.ts";

let names: NameServer;
let receiver: Receiver;
let probe: Probe;

beforeEach(async () => {
  names = await nameServer();
  receiver = await tcpReceiver(() => {});
  probe = createProbe({
    addresses: addressRules({ ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8" }),
    servers: [names.address],
  });
});
afterEach(async () => {
  await receiver.close();
  await names.close();
});

test.each<[NameAnswer, ProbeResult]>([
  [["127.0.0.1"], "reached"],
  ["failed", "failed"],
  ["refused", "failed"],
  ["silence", "failed"],
  ["unknown", "unclear"],
])("a probe of names that gets %p is %p", async (answer, result) => {
  names.answerWith(answer);
  expect(await probe.reach("names", { host: "a.example", port: receiver.port })).toBe(result);
  expect(receiver.accepted()).toBe(0);
});

test.each<[NameAnswer, boolean]>([
  ["unknown", true],
  ["failed", true],
  ["refused", true],
  ["silence", false],
])("name servers that say %p to a name that does not exist: answered is %p", async (answer, isAnswered) => {
  names.answerWith(answer);
  expect(await probe.areNamesAnswered()).toBe(isAnswered);
  await names.die();
  expect(await probe.areNamesAnswered()).toBe(false);
});

test("a probe of names fails if only a second question is answered: an outage may have ended between the two", async () => {
  const secondTime = (): NameAnswer => (names.questions.length > 2 ? ["127.0.0.1"] : "silence");
  names.answerWith(secondTime);
  expect(await probe.reach("names", { host: "a.example", port: 443 })).toBe("failed");
  names.questions.length = 1;
  expect(await probe.areNamesAnswered()).toBe(false);
});

test("a probe of names asks each time", async () => {
  const target = { host: "a.example", port: 443 };
  expect(await probe.reach("names", target)).toBe("reached");
  await names.die();
  expect(await probe.reach("names", target)).toBe("failed");
  await names.revive();
  expect(await probe.reach("names", target)).toBe("reached");
});

test.each<[string, string, ProbeResult]>([
  ["a receiver", "127.0.0.1", "reached"],
  ["a receiver's name", "a.example", "reached"],
  ["a network without a route", NO_ROUTE, "failed"],
  ["an address that is not allowed", "10.0.0.1", "unclear"],
])("a probe of a connection to %s, %p, is %p", async (_title, host, result) => {
  expect(await probe.reach("connections", { host, port: receiver.port })).toBe(result);
});

test("a probe of a connection that is refused fails", async () => {
  const { port } = receiver;
  expect(await probe.reach("connections", { host: "127.0.0.1", port })).toBe("reached");
  await receiver.close();
  expect(await probe.reach("connections", { host: "127.0.0.1", port })).toBe("failed");
  receiver = await tcpReceiver(() => {});
});
